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

test('a line whose text was changed is one line, and another in its place is not', async () => {
    const [a, b] = [recording({ seed: 3 }), recording({ seed: 3 })];
    const sources = JSON.parse(b.sections.SRCE);
    const edit = (text, i) =>
        i % 2 ? text.replace('compute(', 'compute(7, ') : `yield from another_${i} while True`;
    b.sections.SRCE = Buffer.from(
        JSON.stringify(sources.map((s) => ({ ...s, text: s.text.map(edit) }))),
    );
    const { tab, close } = await open(write([a, b]));
    await set(tab, { view: 'table', group: 'line' });
    const rows = await tab.evaluate(() => {
        const { rows, rowOfOther, theirs } = tidemark.base.groups('line');
        return theirs.rows
            .map((row, i) => [row, rows[rowOfOther[i]]])
            .filter(([row]) => row.lineId)
            .map(([was, is]) => [was.line, is.line, is.more]);
    });
    assert.ok(rows.length > 20);
    for (const [was, is, text] of rows) {
        assert.equal(is, was);
        assert.match(text, was % 2 === 0 ? /compute\(7, / : /only in the other run/);
    }
    const sum = await tab.evaluate(() => tidemark.view.change.reduce((x, v) => x + v, 0));
    assert.ok(Math.abs(sum) < 1e-3);
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

test('the heap of a longer run is drawn to the length of this one, moment by moment', async () => {
    const [a, b] = [recording({ seed: 3, duration: 30e6 }), recording({ seed: 4, duration: 10e6 })];
    for (const [run, end] of [
        [a, 24e6],
        [b, 5e6],
    ])
        run.sections.META = Buffer.from(
            JSON.stringify({
                ...run.meta,
                steps: [],
                marks: [],
                regions: [{ name: 'load', thread: 0, start: 0, end, parent: -1 }],
            }),
        );
    const { tab, close } = await open(write([a, b]));
    const pairs = await tab.evaluate(() => {
        const { base, model } = tidemark;
        const there = Array.from(base.model.edges);
        const near = (t) => there.findIndex((edge) => edge >= t);
        return {
            length: [model.end, base.model.end],
            at: [24, 27, 30].map((t) => [there[near(t)], base.edgesHere[near(t)]]),
            sorted: base.edgesHere.every((t, i, all) => !i || t >= all[i - 1]),
        };
    });
    assert.deepEqual(pairs.length, [10, 30]);
    for (const [there, here] of pairs.at)
        assert.ok(Math.abs(here - (5 + ((there - 24) / 6) * 5)) < 0.4, `${there}: ${here}`);
    assert.ok(pairs.sorted);
    await close();
});

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
