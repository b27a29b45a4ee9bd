// layout - boxes of the flame. The order of frames is fixed by the data, so nothing jumps while the
// window moves; what is thinner than a third of a pixel is left out with all below it.

const THINNEST = 0.35;
// a node with this part of its parent's value is its only child, as far as one sees
const ALONE = 0.995;

/**
 * A box: node (-1 in the inverted flame's inner boxes: many), frame, x, w, depth, value, own; chain: the
 * nodes that one row stands for; ends: [leaf's node, node here, value] of an inverted box.
 * @typedef {{ node: number, frame: number, x: number, w: number, depth: number, value: number, own: number,
 *   chain?: number[], ends?: number[][] }} Box
 */

/** Ancestors, outermost first. */
export function ancestors(model, node) {
    const out = [];
    for (let n = model.parent[node]; n >= 0; n = model.parent[n]) out.unshift(n);
    return out;
}

/** Nodes from `top` down that hold nothing but the next one. */
function through(model, { total, self }, top) {
    const out = [];
    for (let n = top; n === 0 || self[n] < total[n] * (1 - ALONE);) {
        let only = -1;
        for (let c = n + 1; c < model.after[n] && only < 0; c = model.after[c])
            if (total[c] > total[n] * ALONE) only = c;
        if (only < 0) return { nodes: out, top: n };
        out.push(n);
        n = top = only;
    }
    return { nodes: out, top };
}

/** Top down from a node. @returns {{ boxes: Box[], sum: number }} */
export function downwards(model, nodes, root, width) {
    const { total, self } = nodes;
    const boxes = [];
    const sum = total[root] || 1;
    let chain = ancestors(model, root);
    let top = root;
    if (!chain.length) ({ nodes: chain, top } = through(model, nodes, root));
    if (chain.length === 1 && chain[0] === 0 && root === 0) [chain, top] = [[], 0];
    if (chain.length)
        boxes.push({
            node: chain.at(-1),
            frame: model.frame[chain.at(-1)],
            x: 0,
            w: width,
            depth: 0,
            value: sum,
            own: 0,
            chain,
        });
    place(model, total, self, top, width / sum, model.depth[top] - (chain.length ? 1 : 0), boxes);
    return { boxes, sum };
}

function place(model, total, self, top, scale, above, boxes) {
    const { parent, after, depth, frame } = model;
    const stop = after[top];
    const cursor = new Float64Array(stop - top); // where the next child of a node begins
    for (let n = top; n < stop;) {
        const w = total[n] * scale;
        const x = n === top ? 0 : cursor[parent[n] - top];
        if (n !== top) cursor[parent[n] - top] = x + w;
        if (w < THINNEST) {
            n = after[n];
            continue;
        }
        boxes.push({
            node: n,
            frame: frame[n],
            x,
            w,
            depth: depth[n] - above,
            value: total[n],
            own: self[n],
        });
        cursor[n - top] = x;
        n++;
    }
}

/** From what allocates to its callers, within the subtree of `root`. */
export function inverted(model, { self }, root, width) {
    const ends = [];
    let sum = 0;
    for (let n = root; n < model.after[root]; n++) {
        if (!(self[n] > 0)) continue;
        ends.push([n, n, self[n]]);
        sum += self[n];
    }
    const boxes = [{ node: 0, frame: -1, x: 0, w: width, depth: 0, value: sum, own: 0 }];
    if (sum > 0) callers(model, ends, 0, 1, width / sum, boxes);
    return { boxes, sum: sum || 1 };
}

/** Ends by the frame that they stand at: only what can be seen is put together. */
function byFrame(model, ends, scale) {
    const sums = new Map();
    for (const [, at, value] of ends)
        if (at > 0) sums.set(model.frame[at], (sums.get(model.frame[at]) ?? 0) + value);
    const groups = new Map();
    for (const [frame, value] of sums)
        if (value * scale >= THINNEST) groups.set(frame, { frame, value, ends: [] });
    for (const [end, at, value] of ends)
        if (at > 0) groups.get(model.frame[at])?.ends.push([end, model.parent[at], value]);
    return [...groups.values()].sort((a, b) => b.value - a.value);
}

function callers(model, ends, x, depth, scale, boxes) {
    for (const { frame, value, ends: rest } of byFrame(model, ends, scale)) {
        const w = value * scale;
        boxes.push({ node: rest[0][0], frame, x, w, depth, value, own: 0, ends: rest });
        if (w > 1.5 && depth < 400) callers(model, rest, x, depth + 1, scale, boxes);
        x += w;
    }
}

/** Boxes by row, each row from left to right: for what is under the pointer. */
export function rowsOf(boxes) {
    const rows = [];
    for (const box of boxes) (rows[box.depth] ??= []).push(box);
    for (let i = 0; i < rows.length; i++) rows[i] ??= [];
    return rows;
}

/** The box of a row at x, if any. */
export function boxAt(row, x) {
    let lo = 0;
    let hi = (row?.length ?? 0) - 1;
    while (lo < hi) {
        const middle = (lo + hi + 1) >> 1;
        if (row[middle].x <= x) lo = middle;
        else hi = middle - 1;
    }
    const box = row?.[lo];
    return box && x >= box.x && x < box.x + Math.max(box.w, 1) ? box : null;
}
