// node served.mjs ADDRESS closer|live - opens a page that is served, and says what it saw as JSON.
// closer: looks at a narrow window, until it is told finer, and out again. live: follows a recording;
// says a line for what it has first, and one for its end.

import { PATIENCE_MS, start } from './start.mjs';

const [address, mode] = process.argv.slice(2);
const browser = await start();
const tab = await browser.newPage({ viewport: { width: 1280, height: 900 } });
const [noise, requests] = [[], []];
tab.on('console', (message) => noise.push(message.text()));
tab.on('pageerror', (error) => noise.push(error.stack));
tab.on('request', (request) => requests.push(request.url()));

const until = (test, arg) => tab.waitForFunction(test, arg, { timeout: PATIENCE_MS });
const say = (what) => console.log(JSON.stringify(what));

/** What is shown: of the window, and of the whole run. */
const shown = () =>
    tab.evaluate(() => {
        const { model, state, window: w, totals, totalsOfRun, figures, extent } = tidemark;
        return {
            finer: model.finer,
            quiet: model.quiet.length,
            inside: model.quiet.filter((e) => e > state.from && e <= state.to).length,
            window: [w.from, w.to],
            whole: tidemark.isWhole(),
            wholeTo: state.to === model.cells - 1,
            view: state.view,
            extent,
            end: model.end,
            totals,
            run: totalsOfRun,
            values: [...figures.values].filter((v) => v > 0).sort((a, b) => b - a),
            closer: document.getElementById('closer').textContent,
            live: document.getElementById('live').hidden
                ? null
                : document.getElementById('live').textContent,
            address: location.hash,
        };
    });

/** Every view, with what is shown. */
async function everyView() {
    for (const id of await tab.evaluate(() => tidemark.names)) await tab.click(`#tab-${id}`);
    await tab.click('#tab-flame');
    await tab.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
}

/** Takes one end of the window to a part of the timeline. */
async function pull(handle, part) {
    const box = await tab.locator('#timeline .over').boundingBox();
    const from = await tab.locator(`#timeline ${handle}`).boundingBox();
    await tab.mouse.move(from.x + from.width / 2, box.y + 60);
    await tab.mouse.down();
    await tab.mouse.move(box.x + box.width * part, box.y + 60, { steps: 4 });
    await tab.mouse.up();
}

async function closer() {
    // a window of some quiet moments about the middle of the run
    await tab.evaluate(() => {
        const { model } = tidemark;
        const middle = Math.floor(model.quiet.length / 2);
        tidemark.set({ measure: 'kept' });
        tidemark.setWindow(model.quiet[middle - 3], model.quiet[middle + 3]);
    });
    await tab.evaluate(() => new Promise((done) => requestAnimationFrame(done)));
    const coarse = await shown();
    await until(() => tidemark.model.finer);
    const fine = await shown();
    await everyView();
    // closer still, by the pointer on what is shown now
    await pull('.handle.left', 0.48);
    await pull('.handle.right', 0.52);
    const half = 0.5 * (fine.extent[1] - fine.extent[0]);
    await until((span) => tidemark.extent[1] - tidemark.extent[0] < span, half);
    const finest = await shown();
    await tab.click('#all');
    await until(() => !tidemark.model.finer);
    const whole = await shown();
    say({ coarse, fine, finest, whole });
}

async function live() {
    await until(() => tidemark.closer?.version > 1);
    say(await shown());
    await tab.evaluate(() => tidemark.set({ view: 'table' }));
    await until(() => document.getElementById('live').textContent === 'has ended');
    await everyView();
    say(await shown());
}

try {
    await tab.goto(address);
    await until(() => document.documentElement.dataset.ready);
    await { closer, live }[mode]();
    const foreign = requests.filter((url) => !url.startsWith(address));
    say({ noise, foreign, asked: requests.length });
} finally {
    await browser.close();
}
