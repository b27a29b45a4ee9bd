// Two runs in one page.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { everyView, open, set, write } from './browser.mjs';
import { recording } from './recording.mjs';

const runs = () => [recording({ seed: 3 }), recording({ seed: 4, stacks: 70, blocks: 7000 })];

test('a comparison begins with the change of the peak, and shows it in every view', async () => {
    const [a, b] = runs();
    const { tab, noise, requests, close } = await open(write([a, b]));
    assert.match(await tab.textContent('#headline'), /^The peak went from .* to /);
    assert.equal(await tab.evaluate(() => tidemark.state.view), 'change');
    await everyView(tab);
    for (const measure of ['kept', 'cpu', 'mapped']) await set(tab, { measure, view: 'change' });
    assert.equal(requests.length, 1);
    assert.deepEqual(noise, []);
    await close();
});

test('changes by line, site, function, module and node add up to the change of the total', async () => {
    const [a, b] = runs();
    const { tab, close } = await open(write([a, b]));
    const grew = Math.max(...b.grid.heap) - Math.max(...a.grid.heap);
    for (const group of ['line', 'site', 'function', 'file', 'module', 'thread']) {
        await set(tab, { view: 'table', group });
        const sum = await tab.evaluate(() => tidemark.view.change.reduce((x, y) => x + y, 0));
        assert.ok(Math.abs(sum - grew) < 1, `${group}: ${sum} against ${grew}`);
    }
    const root = await tab.evaluate(() => tidemark.figures.change[0]);
    assert.ok(Math.abs(root - grew) < 1);
    await set(tab, { view: 'change' });
    assert.match(await tab.textContent('.ch.total'), /Together/);
    await close();
});

test('a run compared with itself has changed nowhere', async () => {
    const [a] = runs();
    const { tab, close } = await open(write([a, a]));
    await set(tab, { view: 'table' });
    assert.equal(await tab.evaluate(() => tidemark.view.change.filter((v) => v !== 0).length), 0);
    assert.equal(
        await tab.evaluate(() => tidemark.figures.change.filter((v) => Math.abs(v) > 1e-6).length),
        0,
    );
    await close();
});

test('a script that was copied to change it is one file, and small changes are no cards', async () => {
    const [a, b] = [recording({ seed: 3 }), recording({ seed: 3 })];
    const name = String(JSON.parse(b.sections.SRCE)[0].file).split('/').at(-1);
    for (const part of ['STRS', 'SRCE'])
        b.sections[part] = Buffer.from(String(b.sections[part]).replaceAll(name, `v2_${name}`));
    const { tab, close } = await open(write([a, b]));
    await set(tab, { view: 'table', group: 'line' });
    assert.equal(await tab.evaluate(() => tidemark.view.change.filter((v) => v !== 0).length), 0);
    assert.equal(
        await tab.evaluate(() => tidemark.figures.change.filter((v) => Math.abs(v) > 1e-6).length),
        0,
    );
    assert.equal(await tab.locator('#findings .card').count(), 0);
    await close();
});

test('a region is compared with the region of that name in the other run', async () => {
    const a = recording({ seed: 3 });
    const b = recording({ seed: 4 });
    const meta = {
        ...a.meta,
        regions: a.meta.regions.map((r) => ({ ...r, start: r.start + 2e6, end: r.end + 1e6 })),
    };
    a.sections.META = Buffer.from(JSON.stringify(meta));
    const { tab, close } = await open(write([a, b]));
    await tab.evaluate(() => tidemark.setTimes(2, 8));
    const times = await tab.evaluate(() => {
        const { base, state } = tidemark;
        const w = base.windowOf(state.from, state.to);
        return [base.model.timeOf(w.from), base.model.timeOf(w.to)];
    });
    assert.ok(Math.abs(times[0] - 4) < 0.6 && Math.abs(times[1] - 9) < 0.6, JSON.stringify(times));
    await close();
});

/** The window of the older run that one of the newer is compared with, in seconds. */
const comparedWith = (tab, from, to) =>
    tab.evaluate(
        ([start, end]) => {
            tidemark.setTimes(start, end);
            const { base, state } = tidemark;
            const w = base.windowOf(state.from, state.to);
            return [base.model.timeOf(w.from), base.model.timeOf(w.to)];
        },
        [from, to],
    );

test('steps and marks are compared with those of their name in the other run', async () => {
    const [a, b] = [recording({ seed: 3, steps: 9 }), recording({ seed: 4, steps: 9 })];
    const later = (list, us) => list.map((one) => ({ ...one, ...us(one) }));
    a.sections.META = Buffer.from(
        JSON.stringify({
            ...a.meta,
            regions: [],
            steps: later(a.meta.steps, ({ began, ends }) => ({
                began: began + 3e6,
                ends: [ends[0] + 3e6, ...ends.slice(1)],
            })),
            marks: later(a.meta.marks, ({ time }) => ({ time: time + 2e6 })),
        }),
    );
    b.sections.META = Buffer.from(JSON.stringify({ ...b.meta, regions: [] }));
    const { tab, close } = await open(write([a, b]));
    const near = (times, ...wanted) =>
        times.every((t, i) => Math.abs(t - wanted[i]) < 0.6) || assert.fail(String(times));
    near(await comparedWith(tab, 3.78, 5.56), 6.78, 8.56); // the second step
    near(await comparedWith(tab, 0, 10), 0, 12); // up to the mark
    await close();
});
