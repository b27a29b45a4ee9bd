// sums - every sum over a window of time, for the leaves that a filter lets through.
//
// A window (from, to] begins and ends at edges; from = -1 is the start of the run. Its cells are
// from + 1 … to. Each sum is one pass over the entries, exact by construction.

import { running } from './decode.js';

const SORTS_OF_CPU = 4; // unknown, Python, native, kernel; + 8 inside memcpy
const CAUSES = 16; // of waits, more than there are

/** Adds up per leaf the entries that are alive at edge k. */
function addLive(lives, k, weight, out) {
    const { leaf, birth, death } = lives;
    for (let e = 0; e < leaf.length; e++)
        if (birth[e] <= k && death[e] > k) out[leaf[e]] += weight[e];
}

/** Those born in the window. */
function addBorn(lives, from, to, weight, out) {
    const { leaf, birth } = lives;
    for (let e = 0; e < leaf.length; e++)
        if (birth[e] > from && birth[e] <= to) out[leaf[e]] += weight[e];
}

/** Those born in the window that were not freed in it (kept), or were (temporary). */
function addFate(lives, from, to, kept, weight, out) {
    const { leaf, birth, death, exit } = lives;
    for (let e = 0; e < leaf.length; e++) {
        const b = birth[e];
        if (b > from && b <= to && (exit[e] === 1 || death[e] > to) === kept)
            out[leaf[e]] += weight[e];
    }
}

export class Sums {
    /** @param {import('./model.js').Model} model */
    constructor(model) {
        this.model = model;
        this.filter(null);
    }

    /** Which leaves count. @param {((leaf: number) => boolean)|null} test */
    filter(test) {
        const { leaves } = this.model;
        this.on = new Uint8Array(leaves.count).fill(1);
        this.partial = Boolean(test);
        if (test) for (let l = 0; l < leaves.count; l++) this.on[l] = test(l) ? 1 : 0;
        this.prepare();
    }

    /** All leaves, whatever the filter: for the view that offers the filter. */
    unfiltered(work) {
        const { on, partial } = this;
        this.on = new Uint8Array(on.length).fill(1);
        this.partial = false;
        const out = work();
        Object.assign(this, { on, partial });
        return out;
    }

    /** Sums by cell: they depend on the filter, not on the window. */
    prepare() {
        const { heap, maps, cpu, waits, queued, copies, cells } = this.model;
        Object.assign(this, this.byCell(heap));
        this.mappedAt = this.levels(maps);
        this.cpuCells = this.sortsByCell(cpu, SORTS_OF_CPU);
        this.waitCells = this.sortsByCell(waits, CAUSES);
        this.queueCells = this.sortsByCell(queued, CAUSES);
        this.copyCells = new Float64Array(cells);
        for (let i = 0; i < copies.count; i++)
            if (this.on[copies.leaf[i]]) this.copyCells[copies.cell[i]] += copies.amount[i];
    }

    /** fates[birth × (cells + 1) + death]: bytes; what went with its process was never freed. */
    byCell(lives) {
        const C = this.model.cells;
        const fates = new Float64Array((C + 1) * (C + 1));
        const born = new Float64Array(C);
        const blocks = new Float64Array(C);
        for (let e = 0; e < lives.count; e++) {
            if (!this.on[lives.leaf[e]]) continue;
            const b = lives.birth[e];
            fates[b * (C + 1) + (lives.exit[e] ? C : lives.death[e])] += lives.bytes[e];
            born[b] += lives.bytes[e];
            blocks[b] += lives.number[e];
        }
        return { fates, born, blocks, liveAt: this.levels(lives) };
    }

    /** Live bytes at every edge. */
    levels(lives) {
        const level = new Float64Array(this.model.cells + 1);
        for (let e = 0; e < lives.count; e++) {
            if (!this.on[lives.leaf[e]]) continue;
            level[lives.birth[e]] += lives.bytes[e];
            level[lives.death[e]] -= lives.bytes[e];
        }
        return running(level).subarray(0, this.model.cells);
    }

    sortsByCell(sums, sorts) {
        const out = Array.from({ length: sorts }, () => new Float64Array(this.model.cells));
        for (let i = 0; i < sums.count; i++)
            if (this.on[sums.leaf[i]]) out[sums.sort[i] % sorts][sums.cell[i]] += sums.amount[i];
        return out;
    }

    /** The edge of the window where a level is highest. */
    highest(levels, from, to) {
        let best = Math.max(from, 0);
        for (let k = best; k <= to; k++) if (levels[k] > levels[best]) best = k;
        return best;
    }

    /** Every measure's total in the window. */
    totals(from, to) {
        const { model, liveAt, mappedAt } = this;
        const t = { allocated: 0, allocations: 0, kept: 0, cpu: 0, waits: 0, queued: 0, copied: 0 };
        for (let b = from + 1; b <= to; b++) {
            t.allocated += this.born[b];
            t.allocations += this.blocks[b];
            t.kept += this.keptFrom(b, to);
            t.copied += this.copyCells[b];
            for (const sort of this.cpuCells) t.cpu += sort[b];
            for (const cause of this.waitCells) t.waits += cause[b];
            for (const cause of this.queueCells) t.queued += cause[b];
        }
        const edge = this.highest(liveAt, from, to);
        const mapped = this.highest(mappedAt, from, to);
        return {
            ...t,
            temporary: t.allocated - t.kept,
            end: (liveAt[to] ?? 0) * this.sureAt(to),
            peak: (liveAt[edge] ?? 0) * this.sureAt(edge),
            peakEdge: edge,
            peakTime: model.timeOf(edge),
            mapped: mappedAt[mapped] ?? 0,
            mappedTime: model.timeOf(mapped),
        };
    }

    /**
     * Of many noisy sums the largest is too large: where the level of a sampled recording is above its peak,
     * all that is in it is taken for less, as the questions do.
     */
    sureAt(edge) {
        const { sampled, peak_heap: peak, grid } = this.model.meta;
        const level = grid?.heap[edge] ?? 0;
        return sampled && peak && level > peak.bytes ? peak.bytes / level : 1;
    }

    /** What lives at an edge, for every leaf. */
    liveLeaves(lives, edge, weight, out) {
        addLive(lives, edge, weight, out);
        const sure = this.sureAt(edge);
        if (sure < 1) for (let l = 0; l < out.length; l++) out[l] *= sure;
    }

    keptFrom(birth, to) {
        const C = this.model.cells;
        let sum = 0;
        for (let d = to + 1; d <= C; d++) sum += this.fates[birth * (C + 1) + d];
        return sum;
    }

    /**
     * One measure for every leaf; of a measure of blocks also their number, when `numbers` is set.
     */
    leaves(measure, from, to, numbers = false) {
        const { model } = this;
        const out = new Float64Array(model.leaves.count);
        const lives = measure === 'mapped' ? model.maps : model.heap;
        const weight = numbers || measure === 'allocations' ? lives.number : lives.bytes;
        if (measure === 'peak')
            this.liveLeaves(lives, this.highest(this.liveAt, from, to), weight, out);
        else if (measure === 'mapped')
            addLive(lives, this.highest(this.mappedAt, from, to), weight, out);
        else if (measure === 'end') this.liveLeaves(lives, to, weight, out);
        else if (measure === 'kept' || measure === 'temporary')
            addFate(lives, from, to, measure === 'kept', weight, out);
        else if (measure === 'allocated' || measure === 'allocations')
            addBorn(lives, from, to, weight, out);
        else
            this.addSums(
                { cpu: model.cpu, waits: model.waits, copied: model.copies }[measure],
                from,
                to,
                out,
            );
        if (this.partial) for (let l = 0; l < out.length; l++) if (!this.on[l]) out[l] = 0;
        return out;
    }

    addSums(sums, from, to, out, sort = null) {
        const { leaf, cell, amount } = sums;
        for (let i = 0; i < leaf.length; i++)
            if (
                cell[i] > from &&
                cell[i] <= to &&
                (sort === null || sums.sort[i] % SORTS_OF_CPU === sort)
            )
                out[leaf[i]] += amount[i];
    }

    /** One sort of CPU time for every leaf. */
    cpuOfSort(sort, from, to) {
        const out = new Float64Array(this.model.leaves.count);
        this.addSums(this.model.cpu, from, to, out, sort);
        if (this.partial) for (let l = 0; l < out.length; l++) if (!this.on[l]) out[l] = 0;
        return out;
    }

    /** Leaves up the trie: the total of every node, and its own part. */
    nodes(values) {
        const { parent, leaves } = this.model;
        const self = new Float64Array(parent.length);
        for (let l = 0; l < values.length; l++) self[leaves.node[l]] += values[l];
        const total = self.slice();
        for (let n = total.length - 1; n > 0; n--) total[parent[n]] += total[n];
        return { total, self };
    }

    /**
     * Live bytes at every edge for groups of leaves: group[leaf] = row, or -1; of mappings for that
     * measure.
     */
    series(group, rows, measure) {
        const { cells, heap, maps } = this.model;
        const lives = measure === 'mapped' ? maps : heap;
        const flat = new Float64Array(rows * (cells + 1));
        for (let e = 0; e < lives.count; e++) {
            const row = group[lives.leaf[e]];
            if (row < 0 || !this.on[lives.leaf[e]]) continue;
            flat[row * (cells + 1) + lives.birth[e]] += lives.bytes[e];
            flat[row * (cells + 1) + lives.death[e]] -= lives.bytes[e];
        }
        return Array.from({ length: rows }, (_, r) =>
            running(flat.subarray(r * (cells + 1), r * (cells + 1) + cells)),
        );
    }

    /** What was born in the window and not freed in it, by group and cell of birth. */
    keptByBirth(group, rows, from, to) {
        const { heap, cells } = this.model;
        const out = Array.from({ length: rows }, () => new Float64Array(cells));
        for (let e = 0; e < heap.count; e++) {
            const row = group[heap.leaf[e]];
            const b = heap.birth[e];
            if (row < 0 || b <= from || b > to || !this.on[heap.leaf[e]]) continue;
            if (heap.exit[e] || heap.death[e] > to) out[row][b] += heap.bytes[e];
        }
        return out;
    }
}
