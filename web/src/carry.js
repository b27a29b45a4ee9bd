// carry - what is looked at, in other data of the same run: told finer somewhere, or grown.

const NEAR = 1e-7; // seconds

/** The quiet edge that is the same moment, or the nearest to it. */
function edgeIn(from, to, edge) {
    if (edge < 0) return -1;
    const t = from.timeOf(edge);
    const same = to.quiet.filter((e) => Math.abs(to.edges[e] - t) < NEAR);
    return same.find((e) => to.heapAt[e] === from.heapAt[edge]) ?? same[0] ?? to.quietAt(t);
}

const nameIn = (model, frame) =>
    [
        model.functionOf(frame),
        model.fileOf(frame),
        model.moduleOf(frame),
        model.frames.line[frame],
    ].join('\0');

/** The node that the same calls lead to; 0 where there is none. */
function nodeIn(from, to, node) {
    let at = 0;
    for (const frame of [...from.stack(node)].reverse()) {
        const name = nameIn(from, frame);
        let child = at + 1;
        while (child < to.after[at] && nameIn(to, to.frame[child]) !== name)
            child = to.after[child];
        if (child >= to.after[at]) return 0;
        at = child;
    }
    return at;
}

/** What changes of the state. A window of the whole run stays that, and grows with it. */
export function carry(state, from, to, whole) {
    const window = whole
        ? { from: -1, to: to.cells - 1 }
        : { from: edgeIn(from, to, state.from), to: edgeIn(from, to, state.to) };
    if (window.to <= window.from) window.to = to.quietAfter(window.from, 1);
    return { ...window, zoom: state.zoom ? nodeIn(from, to, state.zoom) : 0 };
}

/** How far parts of a host are scrolled, by their kind and place, for what is built anew there. */
export function scrolls(host) {
    const all = (root) => [...root.querySelectorAll('*')];
    const list = all(host)
        .map((e, i) => [i, e.className, e.scrollTop])
        .filter(([, , top]) => top > 0);
    return {
        restore(root) {
            const now = all(root);
            for (const [i, name, top] of list)
                if (now[i]?.className === name) now[i].scrollTop = top;
        },
    };
}
