// Memory of several spaces in one page: one of them is looked at, everywhere.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { everyView, open, settled, state, write } from './browser.mjs';
import { recording } from './recording.mjs';

const NAMES = ['host', 'cuda:0', 'pool:<b>x</b>', 'cuda:1'];

/** What META says of the spaces of a page of the first. */
const said = (peaks) =>
    NAMES.map((name, i) => ({
        name,
        kind: i ? 'device' : 'host',
        shown: !i,
        peak: peaks[i],
        ...{ time: 1000, alive: 0, allocated: 1, allocations: 1 },
        hi: i && peaks[i] ? [0, peaks[i], 0] : [],
    }));

/** The data of a space beside the first: memory alone, without what the first has for all. */
function beside(options) {
    const run = recording({ cpu: false, waits: false, copies: false, maps: false, ...options });
    const meta = { ...run.meta };
    delete meta.series;
    delete meta.spaces;
    run.sections.META = Buffer.from(JSON.stringify(meta));
    return run;
}

/** A run with memory of the host, of one device and of a pool; cuda:1 has no data. */
function withSpaces(seed, change = {}) {
    const others = { 1: beside({ seed: seed + 1, blocks: 900 }), 2: beside({ seed: seed + 2 }) };
    const peaks = [1, others[1].meta.peak_heap.bytes, others[2].meta.peak_heap.bytes, null];
    const run = recording({ seed, sampled: true, spaces: said(peaks), ...change });
    return { ...run, beside: others };
}

const menu = '#filters select[aria-label="memory of"]';
const shown = (tab) =>
    tab.evaluate(() => ({
        peak: tidemark.totalsOfRun.peak,
        measures: tidemark.measures,
        views: tidemark.names,
        cells: tidemark.model.cells,
        space: tidemark.model.spaceName,
    }));

async function choose(tab, name) {
    await tab.selectOption(menu, name);
    await tab.waitForFunction((n) => tidemark.model.spaceName === n, name);
    await settled(tab);
}

test('the memory of a device is chosen, and every view and sum is of it', async () => {
    const run = withSpaces(5);
    const { tab, noise, requests, close } = await open(write([run]));
    const host = await shown(tab);
    assert.deepEqual(await tab.locator(`${menu} option`).allInnerTexts(), [
        'Memory of host',
        'Memory of cuda:0',
        'Memory of pool:<b>x</b>',
    ]);
    for (const [place, name] of [
        [1, 'cuda:0'],
        [2, 'pool:<b>x</b>'],
    ]) {
        await choose(tab, name);
        const device = await shown(tab);
        assert.equal(device.peak, run.beside[place].meta.peak_heap.bytes);
        assert.equal(device.cells, run.beside[place].cells);
        assert.ok(!device.measures.includes('cpu') && !device.views.includes('resident'));
        assert.equal(await tab.innerText('.key.heap'), name);
        assert.equal(await tab.innerText('#badge'), 'exact');
        assert.match(await tab.innerText('#notices'), new RegExp(`that of ${name}\\..*host`));
        const strips = await tab
            .locator('canvas.strip[aria-label^="memory of"]')
            .evaluateAll((list) => list.map((c) => c.ariaLabel.split(' ')[2]));
        assert.ok(strips.includes('host') && !strips.includes(name));
        await everyView(tab);
    }
    await choose(tab, 'host');
    assert.deepEqual(await shown(tab), host);
    assert.equal(await tab.innerText('#badge'), 'sampled');
    assert.deepEqual([noise, requests.length], [[], 1]);
    await close();
});

test('a window stays where it is when another space is chosen, and a link brings both back', async () => {
    const path = write([withSpaces(8)]);
    const { tab, noise, close } = await open(path);
    await tab.evaluate(() => tidemark.setTimes(5, 10));
    await settled(tab);
    await choose(tab, 'cuda:0');
    const before = await tab.evaluate(() => tidemark.window);
    assert.ok(Math.abs(before.from - 5) < 1 && Math.abs(before.to - 10) < 1);
    await tab.evaluate(() => tidemark.set({ view: 'table', measure: 'allocated', zoom: 3 }));
    await tab.waitForFunction(() => /zoom/.test(location.hash));
    const [hash, was] = [await tab.evaluate(() => location.hash), await state(tab)];
    await close();
    const again = await open(path, { hash });
    assert.equal((await shown(again.tab)).space, 'cuda:0');
    assert.deepEqual(await state(again.tab), was);
    await again.tab.evaluate(() => (location.hash = '#view=flame'));
    await again.tab.waitForFunction(() => tidemark.model.spaceName === 'host');
    assert.deepEqual([noise, again.noise], [[], []]);
    await again.close();
});

test('a space that a page does not have is left alone, and one that is damaged is said', async () => {
    const spoil = (html) => html.replace(/id="tide-a-2">.{40}/, 'id="tide-a-2">');
    const { tab, noise, close } = await open(write([withSpaces(11)], spoil), {
        hash: '#space=cuda:9&view=table',
    });
    assert.equal((await shown(tab)).space, 'host');
    assert.equal((await state(tab)).space, '');
    await tab.selectOption(menu, 'pool:<b>x</b>');
    await tab.waitForFunction(() => /cannot be shown/.test(document.body.innerText));
    assert.equal((await shown(tab)).space, 'host');
    assert.equal(await tab.inputValue(menu), 'host');
    assert.deepEqual(noise, []);
    await close();
});

test('the peaks that are said of other spaces lead there', async () => {
    const { tab, close } = await open(write([withSpaces(14)]));
    await tab.click('#notices button:has-text("cuda:0")');
    await tab.waitForFunction(() => tidemark.model.spaceName === 'cuda:0');
    await close();
});

test('two runs are compared in each space that both have', async () => {
    const [old, newer] = [withSpaces(20), withSpaces(30, { spaces: undefined })];
    const spaces = said([1, newer.beside[1].meta.peak_heap.bytes, 2, null]);
    // the newer one has them in another order, and no pool
    newer.meta.spaces = [spaces[0], { ...spaces[3], peak: null }, spaces[1]];
    newer.sections.META = Buffer.from(JSON.stringify(newer.meta));
    newer.beside = { 2: newer.beside[1] };
    const { tab, noise, close } = await open(write([old, newer]));
    assert.deepEqual(await tab.locator(`${menu} option`).allInnerTexts(), [
        'Memory of host',
        'Memory of cuda:0',
    ]);
    await choose(tab, 'cuda:0');
    const [before, after] = await tab.evaluate(() => [
        tidemark.base.sums.totals(-1, tidemark.base.model.cells - 1).peak,
        tidemark.totalsOfRun.peak,
    ]);
    assert.equal(before, old.beside[1].meta.peak_heap.bytes);
    assert.equal(after, newer.beside[2].meta.peak_heap.bytes);
    await everyView(tab);
    assert.deepEqual(noise, []);
    await close();
});
