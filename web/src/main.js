// main - reads the data of the page, and shows it.

import { byId, put } from './dom.js';
import { unpack } from './decode.js';
import { Model } from './model.js';
import { Comparison } from './compare.js';
import { ask, Closer } from './closer.js';
import { App } from './app.js';

/** The data of an element: in it, or where it says. */
async function dataOf(id) {
    const element = byId(id);
    if (!element) return null;
    const address = element.dataset.ask;
    return address
        ? { address, ...(await ask(`${address}&newer=0`)) }
        : { model: new Model(await unpack(element)) };
}

async function main() {
    const start = performance.now();
    if (!byId('tide-a'))
        throw new Error('it holds no data; tidemark report FILE -f html writes one that does');
    const a = await dataOf('tide-a');
    const b = await dataOf('tide-b'); // of a comparison: the newer run
    const base = b ? new Comparison(b.model, a.model) : null;
    const decoded = performance.now() - start;
    const app = new App((b ?? a).model, base);
    app.start();
    app.decoded = decoded;
    if (a.address && !b) app.closer = new Closer(app, a.address, a);
    window.tidemark = app; // for tests, and for the curious
    document.documentElement.dataset.ready = String(Math.round(performance.now() - start));
}

main().catch((error) => {
    window.tidemark = { error };
    put(byId('headline'), `This page cannot be shown: ${error.message}.`);
    document.body.classList.add('broken');
    document.documentElement.dataset.ready = 'failed';
});
