// recording - a made-up run whose every event is known, as sections of a page and as the events
// themselves.
//
// Blocks are born and die by a seeded plan; the edges of the grid are chosen as docs/PAGE.md says;
// what a window holds can be replayed from the events and compared with what the page shows.

import { metaOf, sourceOf } from './meta.mjs';
import { columns, deltas } from './pack.mjs';

/** Numbers that are the same in every run. */
export function seeded(seed) {
    let state = seed % 2147483647 || 1;
    return (n) => (state = (state * 48271) % 2147483647) % n;
}

const KINDS = { python: 0, native: 1, interpreter: 2, kernel: 3, smaller: 4 };
const SECOND = 1_000_000;

/** Texts by number; 0 is empty. */
class Strings {
    constructor() {
        this.list = [''];
        this.ids = new Map([['', 0]]);
    }
    id(text) {
        if (!this.ids.has(text)) this.ids.set(text, this.list.push(text) - 1);
        return this.ids.get(text);
    }
}

/**
 * A program of some files: stacks of Python with native code below, each with the line to blame.
 */
function program({ stacks, depth, random, name }) {
    const frames = [];
    const frame = (fields) => frames.push({ line: 0, module: '', file: '', ...fields }) - 1;
    const main = frame({
        name: name('main'),
        file: name('/app/report.py'),
        line: 90,
        kind: KINDS.python,
    });
    const malloc = frame({ name: 'malloc', module: '/usr/lib/libc.so.6', kind: KINDS.native });
    const trie = [{ parent: -1, frame: -1, children: new Map() }];
    const node = (parent, of) => {
        const { children } = trie[parent];
        if (!children.has(of))
            children.set(of, trie.push({ parent, frame: of, children: new Map() }) - 1);
        return children.get(of);
    };
    const lines = [null];
    const ids = new Map();
    const leaves = [];
    for (let s = 0; s < stacks; s++) {
        const file = name(`/app/part${s % 7}.py`);
        const line = 1 + (s % 200);
        let at = node(
            node(0, main),
            frame({ name: name(`work_${s}`), file, line, kind: KINDS.python }),
        );
        for (let d = random(depth); d > 0; d--)
            at = node(
                at,
                frame({
                    name: name(`native_${(s + d) % 97}`),
                    module: name(`/opt/lib/lib${d % 5}.so`),
                    kind: KINDS.native,
                }),
            );
        at = node(at, malloc);
        const key = `${file}:${line}`;
        if (!ids.has(key)) ids.set(key, lines.push({ file, line }) - 1);
        leaves.push({ node: at, line: s % 11 === 10 ? 0 : ids.get(key) });
    }
    return { frames, trie, lines, leaves };
}

/** Births and deaths in the order of time. */
function plan({ leaves, blocks, duration, threads, random, grows }) {
    const events = Object.assign([], { blocks: [] });
    for (let b = 0; b < blocks; b++) {
        const leaf = random(leaves.length);
        const thread = threads > 1 ? leaf % threads : 0;
        const born = 1 + random(Math.floor(duration * 0.95));
        const life =
            leaf % grows === 0
                ? Infinity
                : 1 + Math.floor(duration * 10 ** -(1 + random(4)) * (1 + random(9)));
        const size = leaf % 3 ? 16 * (1 + (leaf % 64)) : 8 * (1 + random(4096));
        const died = born + life < duration ? born + life : Infinity;
        events.push({ time: born, sort: 1, block: b });
        if (died < Infinity) events.push({ time: died, sort: -1, block: b });
        events.blocks.push({ leaf, thread, born, died, size });
    }
    return events.sort((a, b) => a.time - b.time || a.block - b.block || b.sort - a.sort);
}

/**
 * Quiet edges at the lowest moment of each part, and the highest between each two. Places between
 * events.
 */
function gridOf(events, duration, parts) {
    const level = [];
    let live = 0;
    for (const { sort, block } of events) level.push((live += sort * events.blocks[block].size));
    const quiet = [];
    for (let p = 0, e = 0; p < parts; p++) {
        const end = ((p + 1) * duration) / parts;
        let best = -1;
        for (; e < events.length && events[e].time <= end; e++)
            if (best < 0 || level[e] < level[best]) best = e;
        if (best >= 0) quiet.push(best);
    }
    if (events.length && quiet.at(-1) !== events.length - 1) quiet.push(events.length - 1);
    const edges = new Set(quiet);
    let from = 0;
    for (const to of quiet) {
        let best = from;
        for (let e = from; e <= to; e++) if (level[e] > level[best]) best = e;
        edges.add(best);
        from = to;
    }
    const places = [...edges].sort((a, b) => a - b);
    const t = places.map((e) => events[e].time);
    if (t.length) t[t.length - 1] = duration;
    return {
        places,
        t: t.length ? t : [duration],
        heap: t.length ? places.map((e) => level[e]) : [0],
        quiet: t.length ? quiet.map((q) => places.indexOf(q)) : [0],
        level,
    };
}

/** cellOf[event]: the first edge at or after it. */
function cellsOf(events, places) {
    const out = new Int32Array(events.length);
    for (let e = 0, cell = 0; e < events.length; e++) {
        while (places[cell] < e) cell++;
        out[e] = cell;
    }
    return out;
}

/** Entries of leaves: (leaf, birth, death) → count, bytes. */
function entriesOf(events, places, cells, leafOf, extra) {
    const cell = cellsOf(events, places);
    const birth = new Map();
    const found = new Map();
    events.forEach(({ sort, block }, e) => sort > 0 && birth.set(block, cell[e]));
    const death = new Map();
    events.forEach(({ sort, block }, e) => sort < 0 && death.set(block, cell[e]));
    events.blocks.forEach((block, b) => {
        const key = [leafOf(block), birth.get(b), death.get(b) ?? cells];
        const id = key.join();
        const entry = found.get(id) ?? {
            leaf: key[0],
            birth: key[1],
            death: key[2],
            count: 0,
            bytes: 0,
            sizes: new Set(),
        };
        entry.count += 1;
        entry.bytes += block.size;
        entry.sizes.add(block.size);
        found.set(id, entry);
    });
    const list = [...found.values(), ...extra];
    return list.sort((a, b) => a.leaf - b.leaf || a.birth - b.birth || a.death - b.death);
}

/** The trie in preorder; place[node] is its number there. */
function preorder(trie) {
    const [order, up, place] = [[], [], []];
    let depth = -1;
    const visit = (node, deep) => {
        place[node] = order.length;
        order.push(node);
        up.push(order.length > 1 ? depth - deep + 1 : 0);
        depth = deep;
        for (const child of trie[node].children.values()) visit(child, deep + 1);
    };
    visit(0, 0);
    return { order, up, place };
}

const life = (entry, cells) =>
    entry.death === cells ? 0 : 1 + 2 * (entry.death - entry.birth) + (entry.exit ? 1 : 0);

function heapSection(entries, leaves, cells, scale) {
    const of = leaves.map(() => []);
    for (const e of entries) of[e.leaf].push(e);
    const sizes = of.map((list) => {
        const all = new Set(list.flatMap((e) => [...e.sizes]));
        return all.size === 1 ? [...all][0] : 0;
    });
    const births = of.flatMap((list) => deltas(list.map((e) => e.birth)));
    const odd = of.flatMap((list, l) => (sizes[l] ? [] : list.map((e) => e.bytes)));
    const flat = of.flat();
    const section = columns(
        births,
        flat.map((e) => life(e, cells)),
        flat.map((e) => e.count * scale),
        odd,
    );
    return { section, per: of.map((list) => list.length), sizes };
}

/** Sums of CPU time, waits or copies for some leaves and cells. */
function spread(leaves, cells, random, rows, sorts, most) {
    const list = Array.from({ length: rows }, () => ({
        leaf: random(leaves.length),
        cell: random(cells),
        sort: sorts[random(sorts.length)],
        amount: 1 + random(most),
    }));
    list.sort((a, b) => a.leaf - b.leaf || a.cell - b.cell || a.sort - b.sort);
    return {
        list,
        section: columns(
            deltas(list.map((r) => r.leaf)),
            list.map((r) => r.cell),
            list.map((r) => r.sort),
            list.map((r) => r.amount),
        ),
    };
}

const DEFAULTS = {
    seed: 1,
    stacks: 60,
    depth: 6,
    blocks: 6000,
    duration: 20 * SECOND,
    parts: 60,
    processes: 1,
    threads: 2,
    grows: 9,
    heap: true,
    cpu: true,
    waits: true,
    copies: true,
    maps: true,
    sampled: false,
    source: true,
    labels: false,
    name: (text) => text,
};

/**
 * A run. @returns {{ sections: object, meta: object, events: object[], entries: object[], grid:
 * object, leaves: object[] }}
 */
export function recording(options = {}) {
    const o = { ...DEFAULTS, ...options };
    o.random = seeded(o.seed);
    const { frames, trie, lines, leaves: stacks } = program(o);
    const events = o.heap ? plan({ ...o, leaves: stacks }) : Object.assign([], { blocks: [] });
    const grid = gridOf(events, o.duration, o.parts);
    const cells = grid.t.length;
    const { order, up, place } = preorder(trie);
    const labelSets = o.labels
        ? [{}, { phase: o.name('load') }, { phase: o.name('train'), user: o.name('7') }]
        : [{}];
    const leaves = stacks
        .map((s, i) => ({
            ...s,
            node: place[s.node],
            stack: i,
            thread: i % o.threads,
            labels: i % labelSets.length,
        }))
        .sort((a, b) => a.node - b.node || a.thread - b.thread || a.line - b.line);
    const leafOfStack = new Map(leaves.map((l, i) => [l.stack, i]));
    const entries = o.heap
        ? entriesOf(events, grid.places, cells, (block) => leafOfStack.get(block.leaf), [])
        : [];
    const scale = o.sampled ? 1000 : 1;
    const heap = heapSection(entries, leaves, cells, scale);
    const strings = new Strings();
    const frameRows = frames.map((f) => [
        strings.id(f.name),
        strings.id(f.file),
        f.line,
        strings.id(f.module),
        f.kind,
    ]);
    const lineRows = [[0, 0, 0], ...lines.slice(1).map((l) => [strings.id(l.file), l.line, 1])];
    const across = (rows, n) => Array.from({ length: n }, (_, c) => rows.map((r) => r[c]));
    const cpu = spread(leaves, cells, o.random, o.cpu ? 400 : 0, [1, 2, 3, 2 + 8], 20000);
    const waits = spread(leaves, cells, o.random, o.waits ? 90 : 0, [1, 3, 4, 5, 6], 90000);
    const copies = spread(leaves, cells, o.random, o.copies ? 60 : 0, [1, 2, 9], 1 << 20);
    const maps = o.maps ? mappings(leaves, cells, o.random) : [];
    const meta = metaOf(o, grid, labelSets, lines);
    const sections = {
        META: Buffer.from(JSON.stringify(meta)),
        STRS: Buffer.from(strings.list.join('\0')),
        FRMS: columns(...across(frameRows, 5)),
        NODE: columns(
            up,
            order.map((n) => trie[n].frame + 1),
        ),
        LINE: columns(...across(lineRows, 3)),
        LEAF: columns(
            deltas(leaves.map((l) => l.node)),
            leaves.map((l) => l.thread),
            leaves.map((l) => l.line),
            heap.per,
            heap.sizes,
            leaves.map((l) => l.labels),
        ),
        HEAP: heap.section,
        CPUS: cpu.section,
        WAIT: waits.section,
        COPY: copies.section,
        MAPS: columns(
            deltas(maps.map((e) => e.leaf)),
            maps.map((e) => e.birth),
            maps.map((e) => life(e, cells)),
            maps.map((e) => e.bytes),
        ),
        SRCE: Buffer.from(JSON.stringify(o.source ? sourceOf(lines, o.name) : [])),
    };
    return {
        sections,
        meta,
        events,
        entries,
        grid,
        leaves,
        lines,
        cpu: cpu.list,
        waits: waits.list,
        copies: copies.list,
        maps,
        cells,
        options: o,
    };
}

function mappings(leaves, cells, random) {
    const list = Array.from({ length: 12 }, () => {
        const birth = random(cells);
        return {
            leaf: random(leaves.length),
            birth,
            death: random(2) ? cells : Math.min(cells, birth + 1 + random(cells)),
            bytes: 4096 * (1 + random(900)),
        };
    });
    return list.sort((a, b) => a.leaf - b.leaf);
}
