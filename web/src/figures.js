// figures - the numbers of one window, measure and filter; what a view does not ask for is not
// worked out.

import { ofBlocks } from './measures.js';

export class Figures {
    /** @param {import('./sums.js').Sums} sums @param base what is compared with, or null */
    constructor(sums, base, { measure, from, to }) {
        Object.assign(this, { sums, base, measure, from, to });
        this.totals = sums.totals(from, to);
        this.sum = measure ? this.totals[measure] : 0;
        this.kept = new Map();
    }

    once(name, work) {
        if (!this.kept.has(name)) this.kept.set(name, work());
        return this.kept.get(name);
    }

    /** The measure of every leaf. */
    get values() {
        return this.of(this.measure);
    }
    /** Any measure of every leaf. */
    of(measure) {
        return this.once(`of ${measure}`, () =>
            measure
                ? this.sums.leaves(measure, this.from, this.to)
                : new Float64Array(this.sums.model.leaves.count),
        );
    }
    /** How many blocks the values are, or null where they are no blocks. */
    get numbers() {
        if (!ofBlocks(this.measure)) return null;
        return this.once('numbers', () => this.sums.leaves(this.measure, this.from, this.to, true));
    }
    get nodes() {
        return this.once('nodes', () => this.sums.nodes(this.values));
    }

    /** Of the run that is compared with: values by leaf, and the change of every node. */
    get baseValues() {
        const w = this.base.windowOf(this.from, this.to);
        return this.once('base', () =>
            this.measure
                ? this.base.sums.leaves(this.measure, w.from, w.to)
                : new Float64Array(this.base.model.leaves.count),
        );
    }
    get change() {
        return this.once('change', () => this.base.change(this.nodes.total, this.baseValues));
    }
}
