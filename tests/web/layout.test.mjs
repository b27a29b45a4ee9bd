// Sizes, themes and paper.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { everyView, open, pageOf, settled, write } from './browser.mjs';
import { recording } from './recording.mjs';

const long = (text) => `${text}_${'averyveryverylongname'.repeat(12)}`;

test('nothing is wider than the window at 1280 and 400 pixels, light and dark, whatever the names', async () => {
    const paths = [
        pageOf({ name: long, labels: true, processes: 3, threads: 6, health: long('x') }),
        write([recording({ seed: 2 }), recording({ name: long })]),
    ];
    for (const path of paths)
        for (const [width, dark] of [
            [1280, false],
            [400, true],
        ]) {
            const { tab, noise, close } = await open(path, { width, height: 800, dark });
            await everyView(tab, async (id) => {
                const over = await tab.evaluate(
                    () =>
                        document.documentElement.scrollWidth - document.documentElement.clientWidth,
                );
                assert.ok(over <= 0, `${id} is ${over} px too wide at ${width}`);
            });
            assert.deepEqual(noise, []);
            await close();
        }
});

/** Contrast of two colours as browsers give them: rgb(r, g, b). */
function contrast(a, b) {
    const light = (text) => {
        const [r, g, bl] = text
            .match(/[\d.]+/g)
            .slice(0, 3)
            .map((v) => v / 255)
            .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * bl;
    };
    const [x, y] = [light(a), light(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
}

test('text has a contrast of at least 4.5 : 1 on cards, on the page and in the flame, in both themes', async () => {
    const path = pageOf();
    for (const dark of [false, true]) {
        const { tab, close } = await open(path, { dark });
        const colours = await tab.evaluate(() => {
            const probe = document.body.appendChild(document.createElement('i'));
            const names = [
                'bg',
                'card',
                'ink',
                'muted',
                'accent',
                'bad',
                'good',
                'wait',
                'flame-ink',
                'f-python',
                'f-library',
                'f-native',
                'f-interpreter',
                'f-kernel',
                'f-smaller',
                'f-root',
            ];
            return Object.fromEntries(
                names.map((n) => {
                    probe.style.color = `var(--${n})`;
                    return [n, getComputedStyle(probe).color];
                }),
            );
        });
        const pairs = [
            ...['ink', 'muted', 'accent', 'bad', 'good', 'wait'].flatMap((t) => [
                [t, 'card'],
                [t, 'bg'],
            ]),
            ...['python', 'library', 'native', 'interpreter', 'kernel', 'smaller', 'root'].map(
                (k) => ['flame-ink', `f-${k}`],
            ),
        ];
        for (const [ink, ground] of pairs) {
            const ratio = contrast(colours[ink], colours[ground]);
            assert.ok(
                ratio >= 4.5,
                `${ink} on ${ground}, ${dark ? 'dark' : 'light'}: ${ratio.toFixed(2)}`,
            );
        }
        await close();
    }
});

test('the theme follows the system until one is chosen', async () => {
    const { tab, close } = await open(pageOf(), { dark: true });
    const ground = () => tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    await tab.click('#theme');
    await settled(tab);
    assert.notEqual(await ground(), dark);
    await close();
});

test('what the peak says stands where no line crosses it, and keys are named for the views there are', async () => {
    const { tab, close } = await open(pageOf({ seed: 5 }));
    const seen = await tab.evaluate(() => {
        const { timeline, model, totals } = tidemark;
        const heap = timeline.frame.y(totals.peak) + timeline.over.getBoundingClientRect().top;
        const { top, bottom } = timeline.flag.getBoundingClientRect();
        return { heap, top, bottom, views: document.getElementById('keys-of-views').textContent, n: model && tidemark.names.length };
    });
    assert.ok(seen.bottom <= seen.heap && seen.top > seen.heap - 30, JSON.stringify(seen));
    assert.equal(seen.views, `1 – ${seen.n}`);
    await close();
});

test('on paper it is light, without scroll boxes, and the theme comes back', async () => {
    const { tab, noise, close } = await open(pageOf(), { dark: true, hash: '#view=table' });
    await tab.emulateMedia({ media: 'print' });
    await tab.evaluate(() => window.dispatchEvent(new Event('beforeprint')));
    await settled(tab);
    assert.equal(
        await tab.evaluate(() => getComputedStyle(document.body).backgroundColor),
        'rgb(255, 255, 255)',
    );
    assert.equal(
        await tab.evaluate(() => getComputedStyle(document.querySelector('.tview')).overflowY),
        'visible',
    );
    const printed = ['.key', '.tview *'].map((which) =>
        tab.evaluate((w) => {
            const style = getComputedStyle(document.querySelector(w), '::before');
            return style.printColorAdjust ?? style.webkitPrintColorAdjust;
        }, which),
    );
    assert.deepEqual(await Promise.all(printed), ['exact', 'exact']); // else colours have no key
    await tab.evaluate(() => window.dispatchEvent(new Event('afterprint')));
    assert.equal(await tab.evaluate(() => document.documentElement.dataset.theme), undefined);
    assert.deepEqual(noise, []);
    await close();
});
