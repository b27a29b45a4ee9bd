// The page by hand and by keyboard: first screen, window, measures, views, search, address.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { everyView, look, open, pageOf, set, settled, state, write } from './browser.mjs';
import { columns, deltas } from './pack.mjs';
import { recording } from './recording.mjs';

const text = (tab, selector) => tab.textContent(selector);

test('the first screen has a sentence, at most four findings, the timeline, ten measures and the flame', async () => {
    const { tab, noise, requests, close } = await open(pageOf());
    assert.match(await text(tab, '#headline'), /peaked at/);
    assert.equal(await tab.locator('#findings .card').count(), 4);
    assert.equal(await tab.locator('#measures [role=radio]').count(), 10);
    assert.equal(await tab.locator('#view-flame canvas').first().isVisible(), true);
    assert.ok(
        (await tab.locator('#view-flame').boundingBox()).y < 900,
        'the view begins on the first screen',
    );
    assert.equal(requests.length, 1);
    assert.deepEqual(noise, []);
    await close();
});

test('the policy of the page allows its own script and style by hash, and nothing else', async () => {
    const { tab, close } = await open(pageOf());
    const policy = await tab.getAttribute('meta[http-equiv]', 'content');
    assert.match(
        policy,
        /^default-src 'none'; script-src 'sha256-[\w+/]+=*'; style-src 'sha256-[\w+/]+=*'; img-src data:; base-uri 'none'; form-action 'none'$/,
    );
    await tab.evaluate(() =>
        document.body.append(
            Object.assign(document.createElement('script'), { textContent: 'window.owned = 1' }),
        ),
    );
    assert.equal(await tab.evaluate(() => window.owned), undefined);
    await close();
});

test('a drag on the timeline makes a window that the sums and the views follow, and moves nothing else', async () => {
    const { tab, close } = await open(pageOf());
    const before = await text(tab, '#measure-allocated b');
    const box = await tab.locator('#timeline .over').boundingBox();
    await tab.mouse.move(box.x + box.width * 0.4, box.y + 60);
    await tab.mouse.down();
    await tab.mouse.move(box.x + box.width * 0.7, box.y + 60, { steps: 6 });
    await settled(tab);
    assert.deepEqual(
        await tab.locator('#timeline .over').boundingBox(),
        box,
        'the timeline stays under the pointer',
    );
    await tab.mouse.up();
    await settled(tab);
    assert.equal(await tab.evaluate(() => tidemark.isWhole()), false);
    assert.notEqual(await text(tab, '#measure-allocated b'), before);
    const { from, to } = await state(tab);
    // what was said first made room
    const y = (await tab.locator('#timeline .over').boundingBox()).y + 60;
    await tab.mouse.move(box.x + box.width * 0.55, y);
    await tab.mouse.down();
    await tab.mouse.move(box.x + box.width * 0.65, y, { steps: 4 });
    await tab.mouse.up();
    await settled(tab);
    const moved = await state(tab);
    assert.ok(moved.from > from && moved.to > to, 'a drag inside the window moves it');
    await tab.mouse.dblclick(box.x + box.width * 0.2, y);
    await settled(tab);
    assert.equal(await tab.evaluate(() => tidemark.isWhole()), true);
    await close();
});

test('a click on the name of a region takes the region as the window', async () => {
    const run = recording();
    const { tab, close } = await open(write([run]));
    const box = await tab.locator('#timeline .over').boundingBox();
    await tab.mouse.click(box.x + box.width * 0.25, box.y + 8);
    await settled(tab);
    const w = await tab.evaluate(() => tidemark.window);
    assert.ok(Math.abs(w.from - 2) < 0.6 && Math.abs(w.to - 8) < 0.6, JSON.stringify(w));
    await close();
});

test('every measure in every view is drawn without an error', async () => {
    const { tab, noise, close } = await open(pageOf({ labels: true }));
    await everyView(tab, () =>
        tab.evaluate(() => {
            for (const measure of tidemark.measures) {
                tidemark.state.measure = measure;
                tidemark.render();
            }
        }),
    );
    for (const group of ['site', 'function', 'file', 'module', 'thread', 'labels'])
        await set(tab, { view: 'table', group });
    for (const change of [
        { invert: true },
        { up: true },
        { colour: 'module' },
        { colour: 'size', invert: false },
    ])
        await set(tab, { view: 'flame', ...change });
    assert.deepEqual(noise, []);
    await close();
});

test('rows of a table add up to the total of the measure', async () => {
    const { tab, close } = await open(pageOf({ labels: true, threads: 3 }), {
        hash: '#view=table&t=4-12',
    });
    for (const group of ['line', 'site', 'function', 'file', 'module', 'thread', 'labels'])
        for (const measure of ['peak', 'kept', 'cpu', 'mapped']) {
            await set(tab, { group, measure });
            const [rows, total] = await tab.evaluate(() => [
                tidemark.view.value.reduce((a, b) => a + b, 0),
                tidemark.figures.sum,
            ]);
            assert.ok(
                Math.abs(rows - total) <= 1e-6 * Math.max(1, total),
                `${group} ${measure}: ${rows} of ${total}`,
            );
        }
    await close();
});

test('a finding about a function without lines lights it up in the flame', async () => {
    const run = recording();
    const name = 'std::vector<int*>::grow(int (*)[3])';
    run.meta.findings = [
        {
            kind: 'held',
            severity: 2,
            title: `${name} held 40 %`,
            view: 'flame',
            measure: 'peak',
            function: name,
        },
    ];
    run.sections.META = Buffer.from(JSON.stringify(run.meta));
    const { tab, noise, close } = await open(write([run]));
    await tab.locator('#findings .card').first().click();
    await settled(tab);
    const now = await state(tab);
    assert.equal(now.view, 'flame');
    assert.ok(now.q && new RegExp(now.q).test(name));
    assert.ok(!new RegExp(now.q).test('std::vector<int>::grow(int 3)'));
    assert.deepEqual(noise, []);
    await close();
});

test('every finding opens the view that it names, with its measure and window', async () => {
    const run = recording();
    const { tab, noise, close } = await open(write([run]));
    for (let i = 0; i < 4; i++) {
        const { view, measure, from } = run.meta.findings[i];
        await tab.locator('#findings .card').nth(i).click();
        await settled(tab);
        const now = await state(tab);
        assert.deepEqual([now.view, now.measure], [view, measure]);
        assert.equal(await tab.evaluate(() => tidemark.isWhole()), from == null);
    }
    await look(tab, 'run');
    assert.equal(await tab.locator('#view-run .card').count(), run.meta.findings.length);
    assert.deepEqual(noise, []);
    await close();
});

test('search shows what its stacks amount to, and says so when there is nothing', async () => {
    const { tab, close } = await open(pageOf());
    await tab.keyboard.press('/');
    await tab.keyboard.type('work_1');
    await tab.waitForFunction(() => tidemark.match?.words === 'work_1');
    assert.match(await text(tab, '#found'), /[KM]iB · [\d.]+ % · \d+ stacks?/);
    await set(tab, { q: 'no such name' });
    assert.equal(await text(tab, '#found'), 'nothing in this window');
    await set(tab, { q: 'part1.py:2' });
    assert.match(await text(tab, '#found'), /stack/);
    await set(tab, { q: '(((' });
    assert.equal(await text(tab, '#found'), 'nothing in this window');
    await close();
});

test('the address brings back view, measure, window, search, filter and grouping', async () => {
    const path = pageOf({ threads: 3, labels: true });
    const first = await open(path);
    await set(first.tab, {
        view: 'table',
        measure: 'kept',
        q: 'work',
        only: 't1',
        label: 'phase=load',
        group: 'site',
        sort: 'name',
        from: 4,
        to: await first.tab.evaluate(() => tidemark.model.quiet.at(-3)),
    });
    await first.tab.evaluate(() => tidemark.setTimes(4, 12));
    await settled(first.tab);
    await first.tab.evaluate(() => tidemark.writeAddress());
    const [hash, before, found] = [
        await first.tab.evaluate(() => location.hash),
        await state(first.tab),
        await text(first.tab, '#found'),
    ];
    const again = await open(path, { hash });
    assert.deepEqual(await state(again.tab), before);
    assert.equal(await text(again.tab, '#found'), found);
    await first.close();
    await again.close();
});

test('an address that makes no sense shows the page as it begins', async () => {
    const path = pageOf();
    for (const hash of [
        '#view=nothing&measure=%00&zoom=99999999&only=p99&group=__proto__&line=x',
        '#t=NaN-Infinity',
        '#%',
        '#colour=<b>',
    ]) {
        const { tab, noise, close } = await open(path, { hash });
        assert.equal((await state(tab)).view, 'flame');
        assert.equal(
            await tab.evaluate(() => tidemark.state.to),
            await tab.evaluate(() => tidemark.model.cells - 1),
        );
        await set(tab, { view: 'table' });
        assert.deepEqual(noise, [], hash);
        await close();
    }
});

test('the keyboard reaches views, window, peak, theme, help, flame and table', async () => {
    const { tab, close } = await open(pageOf());
    const press = async (...keys) => {
        for (const key of keys) await tab.keyboard.press(key);
        await settled(tab);
    };
    await press('2');
    assert.equal((await state(tab)).view, 'table');
    await press('p');
    assert.equal(await tab.evaluate(() => tidemark.isWhole()), false);
    const { to } = await state(tab);
    await press(',');
    assert.ok((await state(tab)).to < to);
    await press('a', 't');
    assert.equal(await tab.evaluate(() => tidemark.isWhole()), true);
    assert.equal(await tab.evaluate(() => document.documentElement.dataset.theme), 'dark');
    await press('?');
    assert.equal(await tab.locator('#keys').isVisible(), true);
    await press('Escape', '1');
    await tab.focus('#view-flame canvas');
    await press('ArrowDown', 'ArrowDown', 'Enter');
    assert.ok((await state(tab)).zoom > 0);
    await press('Escape');
    assert.equal((await state(tab)).zoom, 0);
    await press('2');
    await tab.focus('#view-table .tview');
    await press('ArrowDown', 'ArrowDown', 'Enter');
    assert.notEqual((await state(tab)).view, 'table');
    await tab.focus('.handle.right');
    await press('ArrowLeft');
    assert.equal(await tab.evaluate(() => tidemark.isWhole()), false);
    await close();
});

test('sliders, radios, tabs and tables have names and values for a reader of screens', async () => {
    const { tab, close } = await open(pageOf(), { hash: '#view=table' });
    assert.equal(
        await tab
            .getByRole('slider', { name: 'start of the window' })
            .getAttribute('aria-valuetext'),
        '0 s',
    );
    assert.equal(await tab.getByRole('radio', { checked: true }).count(), 1);
    assert.equal(await tab.getByRole('tab', { selected: true }).textContent(), 'Table');
    assert.ok((await tab.getByRole('grid').getByRole('row').count()) > 5);
    await close();
});

test('a click on a process or thread looks at it alone everywhere', async () => {
    const { tab, close } = await open(pageOf({ threads: 3 }), { hash: '#view=processes' });
    const whole = await tab.evaluate(() => tidemark.totals.allocated);
    await tab.locator('.pr.thread').first().click();
    await settled(tab);
    assert.ok((await tab.evaluate(() => tidemark.totals.allocated)) < whole);
    await tab.getByRole('button', { name: 'Show all again' }).click();
    await settled(tab);
    assert.equal(await tab.evaluate(() => tidemark.totals.allocated), whole);
    await close();
});

test('a label and a step can be chosen where there are any', async () => {
    const { tab, close } = await open(pageOf({ labels: true }));
    const whole = await tab.evaluate(() => tidemark.totals.allocated);
    await tab.selectOption('select[aria-label=label]', 'phase=load');
    await settled(tab);
    assert.ok((await tab.evaluate(() => tidemark.totals.allocated)) < whole);
    await tab.selectOption('select[aria-label=step]', '1');
    await settled(tab);
    const w = await tab.evaluate(() => tidemark.window);
    assert.ok(Math.abs(w.from - 4) < 0.6 && Math.abs(w.to - 10) < 0.6, JSON.stringify(w));
    await close();
});

test('of many steps the number is asked for', async () => {
    const { tab, close } = await open(pageOf({ steps: 1000 }));
    const field = tab.getByRole('spinbutton', { name: 'step, from 1 to 1000' });
    await field.fill('900');
    await field.press('Enter');
    await settled(tab);
    const { from, to } = await tab.evaluate(() => tidemark.window);
    assert.ok(Math.abs(from - 20 * 0.8192) < 0.3 && to > from, `${from} to ${to}`);
    await field.fill('');
    await field.press('Enter');
    await settled(tab);
    assert.ok(await tab.evaluate(() => tidemark.isWhole()));
    await close();
});

test('a thread says where it was started', async () => {
    const { tab, close } = await open(pageOf({ threads: 3 }), { hash: '#view=processes' });
    assert.match(await text(tab, '#views'), /tid \d+, started at \w+\.py:\d+/);
    await close();
});

test('the parts of the resident memory add up at every sample', async () => {
    const { tab, close } = await open(pageOf(), { hash: '#view=resident' });
    const wrong = await tab.evaluate(() =>
        tidemark.view.points.filter((p) => {
            const parts = [
                'live',
                'mapped',
                'slack',
                'resident_stack',
                'resident_data',
                'resident_file',
                'resident_shared',
                'rest',
            ];
            return (
                Math.abs(parts.reduce((sum, k) => sum + p[k], 0) - p.sum) > 1 ||
                parts.some((k) => p[k] < 0)
            );
        }),
    );
    assert.deepEqual(wrong, []);
    await close();
});

test('the way back leads to where one was before a finding or a row was opened', async () => {
    const { tab, close } = await open(pageOf(), { hash: '#view=table&t=4-12' });
    const shown = () => tab.evaluate(() => [tidemark.state.from, tidemark.state.to]);
    const before = await shown();
    await tab.locator('#view-table .tbody > div').first().click();
    await settled(tab);
    assert.notEqual(await tab.evaluate(() => tidemark.state.view), 'table');
    await tab.goBack();
    await tab.waitForFunction(() => globalThis.tidemark?.state.view === 'table');
    assert.deepEqual(await shown(), before);
    await close();
});

test('what is born all the while grows, however many moments there are beside', async () => {
    const run = recording({ blocks: 0, stacks: 1, parts: 4, heap: true });
    const n = 200; // every tenth cell has births: the others are of regions
    const births = Array.from({ length: n / 10 }, (_, i) => 10 * i);
    const meta = {
        ...run.meta,
        duration: n * 1e5,
        verdicts: [],
        grid: {
            t: Array(n).fill(1e5),
            heap: Array.from({ length: n }, (_, i) => 100 * (1 + Math.floor(i / 10))),
            quiet: Array.from({ length: n }, (_, i) => i),
            peak: n - 1,
        },
    };
    run.sections.META = Buffer.from(JSON.stringify(meta));
    run.sections.LEAF = columns(deltas([run.leaves[0].node]), [0], [1], [births.length], [100], [0]);
    run.sections.HEAP = columns(deltas(births), births.map(() => 0), births.map(() => 1), []);
    for (const name of ['CPUS', 'WAIT', 'COPY', 'MAPS'])
        run.sections[name] = columns([], [], [], []);
    const { tab, close } = await open(write([run]), { hash: '#view=leaks' });
    assert.match(await text(tab, '#view-leaks .lk:not(.th) .v'), /grows to the end/);
    await close();
});

test('mappings that end between two quiet moments are told where they were', async () => {
    const run = recording({ blocks: 0, stacks: 3, parts: 4, heap: true });
    const at = (name, value) => ({ of: 'run', id: 0, name, unit: 'bytes', t: [1.9e6], v: [value] });
    const meta = {
        ...run.meta,
        duration: 4e6,
        grid: { t: [1e6, 0.95e6, 0.05e6, 1e6], heap: [100, 100, 0, 0], quiet: [0, 2, 3], peak: 0 },
        fine: { hi: [100, 100, 0, 0], lo: [100, 100, 0, 0] },
        series: [at('resident_heap', 120), at('rss', 120)],
    };
    run.sections.META = Buffer.from(JSON.stringify(meta));
    run.sections.LEAF = columns(
        deltas(run.leaves.map((l) => l.node)),
        [0, 0, 0],
        [1, 1, 1],
        [1, 0, 0],
        [100, 0, 0],
        [0, 0, 0],
    );
    run.sections.HEAP = columns([0], [1 + 2 * 2 + 1], [1], []);
    run.sections.MAPS = columns([0], [0], [1 + 2 * 2 + 1], [100]);
    for (const name of ['CPUS', 'WAIT', 'COPY']) run.sections[name] = columns([], [], [], []);
    const { tab, close } = await open(write([run]), { hash: '#view=resident' });
    const [point] = await tab.evaluate(() => tidemark.view.points);
    assert.deepEqual([point.live, point.mapped, point.slack], [0, 100, 20]);
    await close();
});

test('while the window is dragged, rows of the table are kept and sparklines wait', async () => {
    const { tab, close } = await open(pageOf(), { hash: '#view=table' });
    const kept = await tab.evaluate(async () => {
        const before = [...document.querySelectorAll('#view-table .tbody > div')];
        tidemark.timeline.dragging = true;
        tidemark.setTimes(4, 12);
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        const now = [...document.querySelectorAll('#view-table .tbody > div')];
        tidemark.timeline.dragging = false;
        tidemark.rest();
        return {
            same: now.every((e) => before.includes(e)),
            rows: now.length,
            drawn: [...document.querySelectorAll('#view-table .spark canvas')].every(
                (c) => !c.hidden,
            ),
        };
    });
    assert.ok(kept.rows > 5);
    assert.deepEqual([kept.same, kept.drawn], [true, true]);
    await close();
});

test('the timeline can stack the processes, with a key for each', async () => {
    const { tab, noise, close } = await open(pageOf({ processes: 3, threads: 6 }));
    await tab.click('#stack');
    await settled(tab);
    assert.equal(await tab.locator('#process-keys .key').count(), 3);
    assert.equal(await tab.locator('.key.heap').isVisible(), false);
    await tab.click('#stack');
    await settled(tab);
    assert.equal(await tab.locator('#process-keys .key').count(), 0);
    assert.deepEqual(noise, []);
    await close();
});

test('memory of other spaces is said, has strips and stands side by side', async () => {
    const spaceOf = (name, shown, peak) => ({
        ...{ name, shown, peak, kind: 'device', time: 1000, alive: 0, allocated: peak },
        ...{ allocations: 1, hi: shown || peak == null ? [] : [0, peak, 0] },
    });
    const spaces = [
        spaceOf('host', true, 1 << 20),
        spaceOf('cuda:0', false, 3 << 20),
        spaceOf('cuda:1', false, null),
    ];
    const { tab, noise, close } = await open(pageOf({ spaces }));
    const strips = tab.locator('canvas.strip[aria-label^="memory of"]');
    assert.deepEqual(await strips.evaluateAll((list) => list.map((c) => c.ariaLabel)), [
        'memory of cuda:0 over time, at most 3.0 MiB',
    ]);
    assert.match(await tab.innerText('#notices'), /that of host\..*cuda:0 3\.0 MiB\./);
    await set(tab, { view: 'run' });
    const said = await tab.innerText('#view-run .spaces');
    assert.match(said, /host \(shown here\)\s+1\.0 MiB at 1/);
    assert.match(said, /cuda:0\s+3\.0 MiB at 1[^]*cuda:1\s+nothing was allocated/);
    assert.deepEqual(noise, []);
    await close();
});
