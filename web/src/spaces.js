// spaces - the host's memory and that of devices and pools. Each has data of its own, on a grid of its
// own, so that the peak of each is exact; one of them is looked at. They are never added up.

import { byId } from './dom.js';
import { unpack } from './decode.js';
import { Comparison } from './compare.js';
import { Model } from './model.js';

/** Where a run has its data of a space: an element of the page, or an address; null: nowhere. */
function sourceOf({ id, address, model }, name) {
    const place = model.meta.spaces.findIndex((s) => s.name === name);
    const element = byId(`tide-${id}-${place}`);
    if (place < 0 || model.meta.spaces[place].peak == null) return null;
    if (address) return { place, address: `${address}&space=${place}` };
    return element && { place, element };
}

export class Spaces {
    /**
     * @param runs [{ id, model, address }], the older one first: what the page begins with
     * @param base of a comparison, or null
     * @param ask of an address: its answer
     */
    constructor(runs, base, ask) {
        Object.assign(this, { runs, ask });
        const [first] = runs.slice(-1);
        this.first = first.model.spaceName;
        this.kept = new Map([[this.first, Promise.resolve({ ...first, base })]]);
    }

    /** Names that can be chosen, in the order of the trace. */
    get names() {
        return this.runs
            .at(-1)
            .model.meta.spaces.map((s) => s.name)
            .filter((n) => n === this.first || this.runs.every((run) => sourceOf(run, n)));
    }

    /** A name that can be chosen, or else the one that the page begins with. */
    named(name) {
        return this.names.includes(name) ? name : this.first;
    }

    /** Of a recording that goes on: newer data of a space. */
    async renew(model) {
        const name = model.spaceName;
        const before = await this.of(name);
        if (name === this.first) this.runs.at(-1).model = model;
        this.kept.set(name, Promise.resolve({ ...before, model }));
    }

    /** What is shown of a space, read when it is first asked for. */
    of(name) {
        if (!this.kept.has(name)) {
            this.kept.set(name, this.read(name));
            this.kept.get(name).catch(() => this.kept.delete(name)); // to be tried again
        }
        return this.kept.get(name);
    }

    async read(name) {
        const all = await Promise.all(this.runs.map((run) => this.dataOf(run, name)));
        const [newest] = all.slice(-1);
        return { ...newest, base: all.length > 1 ? new Comparison(newest.model, all[0].model) : null };
    }

    async dataOf(run, name) {
        const { place, element, address } = sourceOf(run, name);
        const beside = { first: run.model, place };
        return address
            ? { address, beside, ...(await this.ask(`${address}&newer=0`, null, beside)) }
            : { model: new Model(await unpack(element), beside) };
    }
}
