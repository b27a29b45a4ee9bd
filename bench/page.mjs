// node bench/page.mjs [PAGE.html] - how long the report page takes in Chromium: until it can be
// used, and for one move of the window in each view, at the peak and for what was kept.
//
// Without a page it makes one of 300,000 nodes. Times are of the page's own clock; smallest, median
// and p95 of 40 moves, as the machine may be busy with other things.

import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { page } from '../tests/web/pack.mjs';
import { recording } from '../tests/web/recording.mjs';
import { FLAGS } from '../tests/web/start.mjs';

const web = new URL('../web/', import.meta.url).pathname;
const { chromium } = createRequire(join(web, 'package.json'))('playwright-core');

function makePage(folder) {
    const template = join(folder, 'template.html');
    execFileSync(process.execPath, [join(web, 'build.mjs'), template]);
    const run = recording({ stacks: 60000, blocks: 200000, parts: 120, depth: 9, threads: 8 });
    const path = join(folder, 'large.html');
    writeFileSync(path, page(readFileSync(template, 'utf8'), run));
    return path;
}

/** Runs inside the page: 40 moves of the window for each view and measure. */
async function moves() {
    const app = globalThis.tidemark;
    const { quiet } = app.model;
    const at = (values, part) =>
        [...values].sort((a, b) => a - b)[Math.floor(values.length * part)].toFixed(1);
    const spread = (values) => [0, 0.5, 0.95].map((part) => at(values, part)).join(' / ');
    const rows = [];
    for (const view of ['flame', 'table', 'source', 'leaks', 'processes', 'resident'].filter((v) =>
        app.names.includes(v),
    ))
        for (const measure of ['peak', 'kept'].filter((m) => app.measures.includes(m))) {
            const [sums, all, rest] = [[], [], []];
            Object.assign(app.state, { view, measure, q: '', zoom: 0 });
            app.render();
            for (let i = 0; i < 40; i++) {
                const n = quiet.length;
                Object.assign(app.state, {
                    from: quiet[Math.floor((n * i) / 90)],
                    to: quiet[Math.min(n - 1, Math.floor(n * (0.5 + i / 90)))],
                });
                app.timeline.dragging = true;
                app.render();
                all.push(app.cost.all);
                app.timeline.dragging = false;
                const start = performance.now();
                app.rest();
                rest.push(performance.now() - start);
                const again = performance.now();
                app.sums.totals(app.state.from, app.state.to);
                app.sums.nodes(app.sums.leaves(measure, app.state.from, app.state.to));
                sums.push(performance.now() - again);
                await new Promise((done) => setTimeout(done, 4));
            }
            rows.push([`${view}, ${measure}`, spread(sums), spread(all), spread(rest)]);
        }
    return rows;
}

const folder = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: FLAGS,
});
try {
    const path = process.argv[2] ? resolve(process.argv[2]) : makePage(folder);
    const tab = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    await tab.goto(`file://${path}`);
    await tab.waitForFunction(() => document.documentElement.dataset.ready, null, {
        timeout: 120000,
    });
    const facts = await tab.evaluate(() => ({
        ready_ms: Number(document.documentElement.dataset.ready),
        decoded_ms: Math.round(tidemark.decoded),
        nodes: tidemark.model.parent.length,
        leaves: tidemark.model.leaves.count,
        entries: tidemark.model.heap.count,
        cells: tidemark.model.cells,
    }));
    console.log(JSON.stringify({ bytes: statSync(path).size, ...facts }));
    console.log(
        '| view, measure | sums, ms: least / median / p95 | with drawing | when the pointer rests |\n|---|---|---|---|',
    );
    for (const row of await tab.evaluate(moves)) console.log(`| ${row.join(' | ')} |`);
} finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
}
