// node real.mjs PAGE.html - opens a page that the tool wrote, looks at every view, and says what it
// saw as JSON.

import { start } from './start.mjs';

const browser = await start();
try {
    const tab = await browser.newPage({ viewport: { width: 1280, height: 900 } });
    const [noise, requests] = [[], []];
    tab.on('console', (message) => noise.push(message.text()));
    tab.on('pageerror', (error) => noise.push(error.stack));
    tab.on('request', (request) => requests.push(request.url()));
    await tab.goto(`file://${process.argv[2]}`);
    await tab.waitForFunction(() => document.documentElement.dataset.ready, null, {
        timeout: 60000,
    });
    const views = await tab.evaluate(() => tidemark.names ?? []);
    for (const id of views) {
        await tab.click(`#tab-${id}`);
        await tab.evaluate(
            () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
        );
    }
    const seen = await tab.evaluate(() => {
        if (tidemark.error) return { error: tidemark.error.message };
        const { model, sums, totalsOfRun, measures } = tidemark;
        const last = model.cells - 1;
        const byProcess = new Array(model.meta.processes.length).fill(0);
        const bySite = new Map();
        const values = measures.length ? sums.leaves('allocated', -1, last) : [];
        values.forEach((v, l) => {
            const site = model.functionOf(model.siteOf(l));
            bySite.set(site, (bySite.get(site) ?? 0) + v);
            byProcess[model.meta.threads[model.leaves.thread[l]].process] += v;
        });
        return {
            measures,
            byProcess,
            sites: [...bySite].sort((a, b) => b[1] - a[1]).slice(0, 5),
            totals: totalsOfRun,
            headline: document.getElementById('headline').textContent,
            owned: window.owned ?? null,
            wrongEdges: Array.from(model.heapAt).filter((v, i) => Math.abs(v - sums.liveAt[i]) > 1)
                .length,
            images: document.images.length,
            meta: { ...model.meta, series: null, fine: null, grid: null },
            text: document.body.innerText.slice(0, 20000),
        };
    });
    console.log(JSON.stringify({ views, noise, requests: requests.length, ...seen }));
} finally {
    await browser.close();
}
