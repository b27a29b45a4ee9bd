// main - reads the data of the page, and shows it.

import { byId, put } from './dom.js';
import { unpack } from './decode.js';
import { Model } from './model.js';
import { Comparison } from './compare.js';
import { ask, Closer } from './closer.js';
import { App } from './app.js';
import { Spaces } from './spaces.js';
import { spaceIn } from './state.js';

/** The data of an element: in it, or where it says. */
async function dataOf(id) {
    const element = byId(`tide-${id}`);
    if (!element) return null;
    const address = element.dataset.ask;
    return address
        ? { id, address, ...(await ask(`${address}&newer=0`)) }
        : { id, model: new Model(await unpack(element)) };
}

async function main() {
    const start = performance.now();
    if (!byId('tide-a'))
        throw new Error('it holds no data; tidemark report FILE -f html writes one that does');
    const a = await dataOf('a');
    const b = await dataOf('b'); // of a comparison: the newer run
    const base = b ? new Comparison(b.model, a.model) : null;
    const decoded = performance.now() - start;
    const spaces = new Spaces(b ? [a, b] : [a], base, ask);
    const shown = await spaces.of(spaces.named(spaceIn(location.hash)));
    const app = new App(shown.model, shown.base, spaces);
    app.start();
    app.decoded = decoded;
    if (a.address && !b) app.closer = new Closer(app, shown);
    window.tidemark = app; // for tests, and for the curious
    document.documentElement.dataset.ready = String(Math.round(performance.now() - start));
}

main().catch((error) => {
    window.tidemark = { error };
    put(byId('headline'), `This page cannot be shown: ${error.message}.`);
    document.body.classList.add('broken');
    document.documentElement.dataset.ready = 'failed';
});
