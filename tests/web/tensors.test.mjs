// What tensors are for: the view adds up, obeys the filter by rank, and is only there with tensors.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { open, write } from './browser.mjs';
import { recording } from './recording.mjs';

const KINDS = ['parameters', 'activations', 'framework'];
const MIB = 1 << 20;

/** Two ranks with two moments: rank 1 holds more, and all of it is known. */
function tensors() {
    return {
        kinds: KINDS,
        t: [100_000, 400_000],
        of: [
            { process: 0, v: [[4 * MIB, 4 * MIB], [0, 2 * MIB], [MIB, MIB]] },
            { process: 1, v: [[4 * MIB, 4 * MIB], [0, 9 * MIB], [MIB, MIB]] },
        ],
        tables: [
            {
                question: 'ops',
                name: 'ops',
                note: null,
                columns: [['op', 'text'], ['allocated', 'bytes'], ['freed', 'bytes']],
                rows: [['<b>mm</b>', 3 * MIB, null]],
            },
        ],
    };
}

/** The made-up run with these in its META. */
function pageWith(extra) {
    const run = recording({});
    const meta = JSON.parse(Buffer.from(run.sections.META).toString());
    const [first] = meta.processes;
    Object.assign(meta, extra, {
        processes: [0, 1].map((rank) => ({ ...first, pid: 100 + rank, parent: -1, rank })),
    });
    run.sections.META = Buffer.from(JSON.stringify(meta));
    return write([run]);
}

const told = (tab) =>
    tab.$$eval('#view-tensors li:not([hidden])', (items) =>
        Object.fromEntries(items.map((i) => [i.children[0].textContent, i.children[1].textContent])),
    );

test('kinds at the highest moment add up, and those of one rank are its own', async () => {
    const { tab, noise, close } = await open(pageWith({ tensors: tensors() }), {
        hash: '#view=tensors',
    });
    assert.deepEqual(await told(tab), {
        parameters: '8.0 MiB',
        activations: '11.0 MiB',
        framework: '2.0 MiB',
        Together: '21.0 MiB',
    });
    await tab.selectOption('#only', 'r1');
    await tab.waitForFunction(() =>
        document.querySelector('#view-tensors .sum').textContent.includes('14.0 MiB'),
    );
    assert.equal((await told(tab)).activations, '9.0 MiB');
    assert.deepEqual(noise, []);
    await close();
});

test('what questions say is shown as it is, and text stays text', async () => {
    const { tab, close } = await open(pageWith({ tensors: tensors() }), { hash: '#view=tensors' });
    const cells = await tab.$$eval('[data-table=ops] td', (list) => list.map((c) => c.textContent));
    assert.deepEqual(cells, ['<b>mm</b>', '3.0 MiB', '–']);
    await close();
});

test('without tensors there is no such view', async () => {
    const { tab, close } = await open(pageWith({ tensors: null }));
    assert.equal(await tab.locator('#tab-tensors').count(), 0);
    await close();
});

for (const [width, dark] of [[1280, false], [400, true]])
    test(`nothing is wider than a window of ${width} pixels`, async () => {
        const { tab, noise, close } = await open(pageWith({ tensors: tensors() }), {
            hash: '#view=tensors',
            width,
            dark,
        });
        assert.equal(
            await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
            true,
        );
        assert.deepEqual(noise, []);
        await close();
    });
