// Recordings that are odd: hostile, empty, cut, without heap, with a thousand processes, damaged.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { everyView, look, open, pageOf, set, write } from './browser.mjs';
import { columns } from './pack.mjs';
import { recording } from './recording.mjs';

const ATTACK = '</script><img src=x onerror="window.owned=1"><script>window.owned=1</script><!--';

test('names that are attacks stay text in every field and every view', async () => {
    const run = recording({
        name: (text) => ATTACK + text,
        labels: true,
        processes: 3,
        threads: 6,
        health: ATTACK,
        losses: [{ what: ATTACK, count: 3 }],
    });
    const { tab, noise, requests, close } = await open(write([run]));
    const scripts = await tab.evaluate(() => document.scripts.length);
    await everyView(tab);
    for (const group of ['site', 'function', 'file', 'module', 'thread', 'process', 'labels'])
        await set(tab, { view: 'table', group });
    await set(tab, { view: 'flame', zoom: 3, q: '<img' });
    await tab.hover('#view-flame canvas', { position: { x: 40, y: 40 } });
    const seen = await tab.evaluate(() => ({
        owned: window.owned,
        images: document.images.length,
        scripts: document.scripts.length,
        text: document.body.innerText.includes('onerror'),
        title: document.title.includes('onerror'),
    }));
    assert.deepEqual(seen, { owned: undefined, images: 0, scripts, text: true, title: true });
    assert.equal(requests.length, 1);
    assert.deepEqual(noise, []);
    await close();
});

test('hostile names in a comparison stay text, too', async () => {
    const runs = [1, 2].map((seed) => recording({ seed, name: (text) => ATTACK + text }));
    const { tab, noise, requests, close } = await open(write(runs));
    await everyView(tab);
    assert.deepEqual(await tab.evaluate(() => [window.owned, document.images.length]), [
        undefined,
        0,
    ]);
    assert.equal(requests.length, 1);
    assert.deepEqual(noise, []);
    await close();
});

test('characters that steer what stands beside them are shown as unknown ones', async () => {
    const steers = ['\u202e', '\u200b', '\u2066', '\u00ad', '\ufeff'].join('x');
    const { tab, noise, close } = await open(pageOf({ name: (text) => `${text}${steers}` }));
    const seen = [];
    await everyView(tab, async () => seen.push(await tab.evaluate(() => document.body.innerText)));
    assert.match(seen.join(), /compute\(\d+\)\ufffdx\ufffdx\ufffdx\ufffdx\ufffd/); // source, in SRCE
    assert.match(seen.join(), /worker\d\ufffdx/); // META
    assert.doesNotMatch(seen.join(), /[\u202e\u200b\u2066\u00ad\ufeff]/);
    const flame = await tab.evaluate(() => tidemark.model.strings.join(''));
    assert.doesNotMatch(flame, /[\u202e\u200b\u2066\u00ad\ufeff]/);
    assert.deepEqual(noise, []);
    await close();
});

test('modules that lack names for the same reason are one sentence', async () => {
    const lacks = (path) => `${path} has no symbols: functions are shown by address.`;
    const unnamed = [...['/a/libx.so', '/a/liby.so', '/a/libz.so'].map(lacks), 'libw.so was not found.'];
    const { tab, noise, close } = await open(pageOf({ unnamed }));
    await look(tab, 'run');
    const said = await tab.locator('#view-run .unnamed > li').allInnerTexts();
    assert.equal(said.length, 2);
    assert.match(said[0], /^\/a\/libx\.so has no symbols: functions are shown by address\.\s+The same is true of 2 more\.$/);
    assert.equal(said[1], 'libw.so was not found.');
    await tab.click('#view-run .unnamed summary');
    assert.match(await tab.innerText('#view-run .unnamed'), /2 more\.\s+\/a\/liby\.so\s+\/a\/libz\.so/);
    assert.deepEqual(noise, []);
    await close();
});

test('a recording without a single allocation, sample or name is shown', async () => {
    const run = recording({
        blocks: 0,
        cpu: false,
        waits: false,
        copies: false,
        maps: false,
        source: false,
    });
    const { tab, noise, close } = await open(write([run]));
    await everyView(tab);
    assert.deepEqual(noise, []);
    assert.equal(await tab.evaluate(() => tidemark.totals.peak), 0);
    await close();
});

test('a recording of nothing but META is shown', async () => {
    const { tab, noise, close } = await open(
        write([{ sections: { META: Buffer.from('{"version":1,"duration":null}') } }]),
    );
    await everyView(tab);
    assert.deepEqual(noise, []);
    await close();
});

test('where the heap was not recorded its measures and views are hidden, never 0', async () => {
    const { tab, noise, close } = await open(pageOf({ heap: false, maps: false, copies: false }));
    assert.deepEqual(await tab.evaluate(() => tidemark.measures), ['cpu', 'waits']);
    assert.equal(await tab.locator('#tab-leaks').count(), 0);
    await everyView(tab);
    await look(tab, 'run');
    assert.match(await tab.textContent('#view-run'), /Not recordedallocations/);
    assert.deepEqual(noise, []);
    await close();
});

test('a recording of a run alone begins with its processes', async () => {
    const run = recording({ heap: false, cpu: false, waits: false, copies: false, maps: false });
    const { tab, noise, close } = await open(write([run]));
    assert.equal(await tab.evaluate(() => tidemark.state.view), 'processes');
    assert.equal(await tab.locator('#measures').isHidden(), true);
    await everyView(tab);
    assert.deepEqual(noise, []);
    await close();
});

test('a grid of one cell has a window, sums and every view', async () => {
    const { tab, noise, close } = await open(pageOf({ parts: 1, blocks: 1, stacks: 1 }));
    await everyView(tab);
    assert.ok((await tab.evaluate(() => tidemark.totals.allocations)) === 1);
    assert.deepEqual(noise, []);
    await close();
});

test('what a cut trace lost is said on the first screen and in Run', async () => {
    const health = 'The trace ends early: it was cut after 3.2 s.';
    const { tab, close } = await open(
        pageOf({ health, losses: [{ what: 'allocations of a full buffer', count: 12 }] }),
    );
    assert.match(await tab.textContent('#notices'), /cut after/);
    await look(tab, 'run');
    assert.match(await tab.textContent('#view-run'), /12: allocations of a full buffer/);
    await close();
});

test('a page that is cut or damaged says so in one sentence', async () => {
    const run = recording();
    const cut = (html) =>
        html.replace(
            /id="tide-a">([^<]*)</,
            (_, data) => `id="tide-a">${data.slice(0, data.length / 2)}<`,
        );
    const spoiled = (html) =>
        html.replace(/id="tide-a">[^<]{200}/, `id="tide-a">${'A'.repeat(200)}`);
    const empty = (html) => html.replace(/id="tide-a">[^<]*</, 'id="tide-a"><');
    for (const spoil of [cut, spoiled, empty]) {
        const { tab, noise, close } = await open(write([run], spoil));
        assert.match(await tab.textContent('#headline'), /^This page cannot be shown: .*\.$/);
        assert.deepEqual(noise, []);
        await close();
    }
});

test('sections and columns of a later version are stepped over', async () => {
    const run = recording();
    run.sections.NEWS = columns([1, 2, 3]);
    run.sections.LINE = columns(
        ...[0, 1, 2].map((c) => [
            0,
            ...run.lines.slice(1).map((l, i) => [0, l.line, 1][c] + 0 * i),
        ]),
        [9],
        [9, 9],
    );
    const { tab, noise, close } = await open(write([run]));
    await everyView(tab);
    assert.deepEqual(noise, []);
    await close();
});

test('a thousand processes are a list that one can scroll, with few elements in the page', async () => {
    const { tab, noise, close } = await open(
        pageOf({ processes: 1000, threads: 1000, stacks: 1000, blocks: 4000 }),
        { hash: '#view=processes' },
    );
    assert.ok((await tab.locator('.pr').count()) < 80);
    await tab.evaluate(() => {
        document.querySelector('.procs').scrollTop = 1e6;
    });
    await tab.waitForFunction(() => {
        const { process } = tidemark.view.tree.at(-1);
        return [...document.querySelectorAll('.pr .name')].some((e) =>
            e.textContent.includes(process.pid),
        );
    });
    await set(tab, { only: 'p700' });
    await set(tab, { view: 'flame' });
    assert.deepEqual(noise, []);
    await close();
});

test('a large recording is shown, and its sums agree', async () => {
    const run = recording({ stacks: 4000, blocks: 40000, parts: 120, depth: 20 });
    const { tab, noise, close } = await open(write([run]));
    const [peak, allocations] = await tab.evaluate(() => [
        tidemark.totals.peak,
        tidemark.totals.allocations,
    ]);
    assert.equal(peak, Math.max(...run.grid.heap));
    assert.equal(allocations, 40000);
    await everyView(tab);
    assert.deepEqual(noise, []);
    await close();
});
