// Numbers of the page against a replay of every event of a made-up run.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open, write } from './browser.mjs';
import { recording, seeded } from './recording.mjs';

const close = (a, b, what) =>
    assert.ok(
        Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(a), Math.abs(b)),
        `${what}: ${a} against ${b}`,
    );

/** Windows between quiet edges. */
function windowsOf({ grid: { quiet } }, n) {
    const random = seeded(7);
    const out = [[-1, quiet.at(-1)]];
    while (out.length < n) {
        const i = random(quiet.length);
        const j = random(quiet.length);
        out.push([i === 0 ? -1 : quiet[Math.min(i, j)], quiet[Math.max(i, j)]]);
    }
    return out.filter(([a, b]) => b > a);
}

/** What a window holds, from the events alone. */
function replay({ events, grid: { places } }, from, to, wanted = () => true) {
    const first = from < 0 ? -1 : places[from];
    const last = places[to];
    const inside = new Set();
    const out = { allocated: 0, allocations: 0, kept: 0, peak: 0, end: 0 };
    let live = 0;
    for (let e = 0; e <= last; e++) {
        const block = events.blocks[events[e].block];
        if (!wanted(block)) continue;
        live += events[e].sort * block.size;
        if (e > first) {
            if (events[e].sort > 0) {
                inside.add(events[e].block);
                out.allocated += block.size;
                out.allocations += 1;
                out.kept += block.size;
            } else if (inside.has(events[e].block)) out.kept -= block.size;
        }
        if (e >= first) out.peak = Math.max(out.peak, live);
    }
    return { ...out, end: live, temporary: out.allocated - out.kept };
}

test('every sum of every window equals a replay of all events', async () => {
    const run = recording({ blocks: 5000 });
    const { tab, close: shut } = await open(write([run]));
    const windows = windowsOf(run, 40);
    const shown = await tab.evaluate(
        (list) => list.map(([a, b]) => tidemark.sums.totals(a, b)),
        windows,
    );
    windows.forEach(([from, to], i) => {
        const truth = replay(run, from, to);
        for (const key of Object.keys(truth))
            close(shown[i][key], truth[key], `${key} of ${from}..${to}`);
    });
    await shut();
});

test('a filter by thread changes every sum as a replay of that thread does', async () => {
    const run = recording({ blocks: 3000, threads: 3 });
    const threadOf = new Map(run.leaves.map((leaf) => [leaf.stack, leaf.thread]));
    const { tab, close: shut } = await open(write([run]), { hash: '#only=t1' });
    const windows = windowsOf(run, 15);
    const shown = await tab.evaluate(
        (list) => list.map(([a, b]) => tidemark.sums.totals(a, b)),
        windows,
    );
    windows.forEach(([from, to], i) => {
        const truth = replay(run, from, to, (block) => threadOf.get(block.leaf) === 1);
        for (const key of ['allocated', 'kept', 'end', 'allocations'])
            close(shown[i][key], truth[key], `${key} of ${from}..${to}`);
        assert.ok(
            shown[i].peak <= truth.peak + 1,
            'a peak between edges of the grid may be higher than at them, never lower',
        );
    });
    await shut();
});

test('leaves, the root of the flame and the totals agree for all ten measures', async () => {
    const run = recording({ blocks: 3000 });
    const { tab, close: shut } = await open(write([run]));
    const wrong = await tab.evaluate(
        (windows) => {
            const { sums, measures } = tidemark;
            const out = [];
            for (const [from, to] of windows)
                for (const measure of measures) {
                    const total = sums.totals(from, to)[measure];
                    const values = sums.leaves(measure, from, to);
                    const sum = values.reduce((a, b) => a + b, 0);
                    const root = sums.nodes(values).total[0];
                    if (
                        Math.abs(sum - total) > 1e-6 * Math.max(1, total) ||
                        Math.abs(root - total) > 1e-6 * Math.max(1, total)
                    )
                        out.push([measure, from, to, sum, root, total]);
                }
            return { out, measures };
        },
        windowsOf(run, 40),
    );
    assert.equal(wrong.measures.length, 10);
    assert.deepEqual(wrong.out, []);
    await shut();
});

test('CPU time, waits, copies and mappings are those of the data, and a wait for a CPU is no waiting', async () => {
    const run = recording();
    const { tab, close: shut } = await open(write([run]));
    const add = (list) => list.reduce((sum, row) => sum + row.amount, 0);
    const level = run.grid.t.map((_, k) =>
        run.maps.reduce((sum, e) => sum + (e.birth <= k && e.death > k ? e.bytes : 0), 0),
    );
    const t = await tab.evaluate(() => tidemark.totals);
    assert.equal(t.cpu, add(run.cpu));
    const queued = run.waits.filter((row) => row.sort === 6);
    assert.equal(t.waits, add(run.waits) - add(queued));
    assert.equal(t.queued, add(queued));
    assert.ok(t.queued > 0);
    assert.equal(t.copied, add(run.copies));
    assert.equal(t.mapped, Math.max(...level));
    await shut();
});

test('a sampled recording counts in thousandths of blocks and says that it is sampled', async () => {
    const run = recording({ sampled: true });
    const { tab, close: shut } = await open(write([run]));
    close(
        (await tab.evaluate(() => tidemark.totals)).allocations,
        run.options.blocks,
        'allocations',
    );
    close((await tab.evaluate(() => tidemark.totals)).peak, Math.max(...run.grid.heap), 'peak');
    assert.equal(await tab.textContent('#badge'), 'sampled');
    await shut();
});

test('no total of a sampled recording is above its peak, which is less than the largest of its estimates', async () => {
    const run = recording({ sampled: true });
    const peak = Math.round(run.meta.peak_heap.bytes * 0.9);
    run.meta.peak_heap.bytes = peak;
    run.sections.META = Buffer.from(JSON.stringify(run.meta));
    const { tab, close: shut } = await open(write([run]));
    const totals = await tab.evaluate(() => tidemark.totals);
    close(totals.peak, peak, 'peak');
    assert.ok(totals.end <= peak);
    const leaves = await tab.evaluate(() => [...tidemark.figures.of('peak')]);
    close(
        leaves.reduce((a, b) => a + b, 0),
        peak,
        'what holds it',
    );
    await shut();
});

test('what died with its process is kept, and no longer live', async () => {
    const run = recording({ blocks: 0, stacks: 3, parts: 4, heap: true });
    const cells = 4;
    const { columns, deltas } = await import('./pack.mjs');
    const meta = {
        ...run.meta,
        grid: { t: [1e6, 1e6, 1e6, 1e6], heap: [100, 100, 0, 0], quiet: [0, 1, 2, 3], peak: 0 },
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
    for (const name of ['CPUS', 'WAIT', 'COPY', 'MAPS'])
        run.sections[name] = columns([], [], [], []);
    const { tab, close: shut } = await open(write([run]));
    const t = await tab.evaluate((last) => tidemark.sums.totals(-1, last), cells - 1);
    assert.deepEqual([t.peak, t.end, t.kept, t.temporary], [100, 0, 100, 0]);
    await shut();
});
