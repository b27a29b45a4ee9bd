// model - a run as typed arrays, made from the sections of the page.
//
// A leaf is a stack with its thread and the program's line that is to blame. An entry says: of this
// leaf so many blocks and bytes were born in cell `birth` and died in cell `death` (death = cells:
// never). Cells lie between the edges of the grid; cell i ends with edge i.

import { columns, jsonOf, running, textOf } from './decode.js';
import { short } from './format.js';
import { Sites } from './sites.js';

/**
 * Kinds of frames: the first six as in the data; the last is Python that is not the program's own.
 */
export const KINDS = ['python', 'native', 'interpreter', 'kernel', 'smaller', 'unknown', 'library'];
const HOST = 'host'; // its name among the spaces
const QUEUE = 6; // the cause of a wait: ready to run, but no CPU was free
const PYTHON = 0;
const LIBRARY = 6;
const FOREIGN = /site-packages|dist-packages|\/lib\/python\d|^<(?!string|stdin|ipython)/;

/** Those rows of CPU time, waits or copies whose sort is wanted. */
function rowsOf(sums, wanted) {
    const keep = (column) => column.filter((_, i) => wanted(sums.sort[i]));
    const [leaf, cell, amount] = [sums.leaf, sums.cell, sums.amount].map(keep);
    return { leaf, cell, sort: keep(sums.sort), amount, count: leaf.length };
}

const LEAST_META = {
    trace: '',
    duration: 0,
    facts: [],
    processes: [],
    threads: [],
    regions: [],
    marks: [],
    series: [],
    spaces: [],
    losses: [],
    findings: [],
    labels: [],
    steps: [],
    unnamed: [],
    verdicts: [],
    has: {},
};

/** Differences of microseconds as times in seconds: added up as whole numbers, then divided. */
const secondsOf = (deltas) => running(Float64Array.from(deltas)).map((us) => us / 1e6);

export class Model {
    /**
     * @param {Map<string, Uint8Array>} sections
     * @param beside of another space than the first: { first, place }, the model that has what is of
     * both, and its place among the spaces
     */
    constructor(sections, beside = null) {
        this.meta = { ...jsonOf(sections.get('META')) };
        if (beside) this.takeFrom(beside);
        // what is not known is null
        for (const [key, least] of Object.entries(LEAST_META)) this.meta[key] ??= least;
        this.fine = this.meta.fine ?? { hi: [], lo: [] };
        this.strings = textOf(sections.get('STRS')).split('\0');
        this.readGrid(this.meta.grid ?? { t: [], quiet: [] });
        this.readFrames(sections.get('FRMS'));
        this.readNodes(...columns(sections.get('NODE'), Uint32Array, Int32Array));
        const [file, number, python] = columns(
            sections.get('LINE'),
            Uint32Array,
            Uint32Array,
            Uint8Array,
        );
        this.lines = { file, number, python, count: file.length };
        this.readLeaves(sections);
        this.readSource(jsonOf(sections.get('SRCE')) ?? []);
        this.readSeries();
    }

    takeFrom({ first, place }) {
        const { series, spaces } = first.meta;
        this.meta.series = series;
        this.meta.spaces = spaces.map((s, i) => ({
            ...s,
            shown: i === place,
            hi: s.shown ? first.fine.hi : s.hi,
        }));
    }

    /** Whose memory this is. */
    get spaceName() {
        return this.meta.spaces.find((s) => s.shown)?.name ?? HOST;
    }
    /** What is resident, and who waits, is a matter of the host. */
    get ofHost() {
        return this.spaceName === HOST;
    }

    readGrid(grid) {
        this.edges = secondsOf(grid.t);
        this.cells = this.edges.length;
        this.end = Math.max(this.meta.duration / 1e6, this.edges[this.cells - 1] ?? 0);
        this.quiet = (grid.quiet ?? []).filter((edge) => edge < this.cells);
        if (this.cells && this.quiet.at(-1) !== this.cells - 1) this.quiet.push(this.cells - 1);
        this.heapAt = grid.heap ?? [];
        // what is told finer than the rest; else all of it
        const { from, to } = this.meta.stretch ?? {};
        this.finer = to > from;
        this.stretch = this.finer ? [from / 1e6, to / 1e6] : [0, this.end];
    }

    readFrames(section) {
        const kinds = [Uint32Array, Uint32Array, Uint32Array, Uint32Array, Uint8Array];
        const [name, file, line, module, kind] = columns(section, ...kinds);
        this.frames = { name, file, line, module, kind, count: name.length };
        const foreign = new Map();
        for (let f = 0; f < kind.length; f++) {
            if (kind[f] !== PYTHON) continue;
            if (!foreign.has(file[f]))
                foreign.set(file[f], FOREIGN.test(this.strings[file[f]] ?? ''));
            if (foreign.get(file[f])) kind[f] = LIBRARY;
        }
    }

    /** The trie in preorder: `up` = how many levels to leave before this node. */
    readNodes(up, frame) {
        const n = frame.length || 1;
        this.parent = new Int32Array(n).fill(-1);
        this.frame = new Int32Array(n).fill(-1);
        this.depth = new Uint32Array(n);
        const path = new Int32Array(n + 1);
        let deep = 0;
        for (let i = 1; i < n; i++) {
            deep = Math.max(0, deep - up[i]);
            this.parent[i] = path[deep];
            this.frame[i] = frame[i] - 1;
            this.depth[i] = ++deep;
            path[deep] = i;
        }
        this.readEnds();
    }

    /** after[i]: the first node behind the subtree of i. */
    readEnds() {
        const n = this.parent.length;
        this.after = new Int32Array(n);
        for (let i = n - 1; i >= 0; i--) {
            if (!this.after[i]) this.after[i] = i + 1;
            const p = this.parent[i];
            if (p >= 0 && this.after[p] < this.after[i]) this.after[p] = this.after[i];
        }
    }

    readLeaves(sections) {
        const kinds = [
            Uint32Array,
            Uint32Array,
            Uint32Array,
            Uint32Array,
            Float64Array,
            Uint32Array,
            Uint32Array,
        ];
        const [node, thread, line, per, size, labels, site] = columns(
            sections.get('LEAF'),
            ...kinds,
        );
        const count = node.length;
        this.leaves = {
            node: running(node),
            thread,
            line,
            count,
            labels: labels.length === count ? labels : new Uint32Array(count),
            site: site.length === count ? site : new Uint32Array(count), // 1 + a frame that was folded away
        };
        this.heap = this.readHeap(sections.get('HEAP'), per, size);
        this.maps = this.readMaps(sections.get('MAPS'));
        this.cpu = this.readSums(sections.get('CPUS'));
        const waits = this.readSums(sections.get('WAIT'));
        this.waits = rowsOf(waits, (cause) => cause !== QUEUE);
        this.queued = rowsOf(waits, (cause) => cause === QUEUE);
        this.copies = this.readSums(sections.get('COPY'));
        this.has = {
            cpu: this.cpu.count > 0,
            waits: this.waits.count > 0,
            copies: this.copies.count > 0,
            maps: this.maps.count > 0,
            ...this.meta.has,
            heap: this.meta.heap ?? this.heap.count > 0,
        };
    }

    /** `life`: 0 lives at the end; else 1 + 2 × cells lived + 1 if it went with its process. */
    lives(leaf, birth, life, number, size) {
        const death = new Uint16Array(birth.length);
        const exit = new Uint8Array(birth.length);
        for (let e = 0; e < birth.length; e++) {
            death[e] = life[e] ? Math.min(this.cells, birth[e] + ((life[e] - 1) >> 1)) : this.cells;
            exit[e] = life[e] ? (life[e] - 1) & 1 : 0;
        }
        return { leaf, birth, death, exit, number, bytes: size, count: birth.length };
    }

    readHeap(section, per, one) {
        const kinds = [Uint16Array, Uint32Array, Float64Array, Float64Array];
        const [birth, life, number, odd] = columns(section, ...kinds);
        const leaf = new Uint32Array(birth.length);
        const size = new Float64Array(birth.length);
        const bytesOf = (l, e) => one[l] * (this.meta.sampled ? number[e] / 1000 : number[e]);
        for (let l = 0, e = 0, o = 0; l < per.length; l++) {
            const stop = Math.min(birth.length, e + per[l]);
            for (let born = 0; e < stop; e++) {
                birth[e] = born += birth[e];
                size[e] = one[l] ? bytesOf(l, e) : odd[o++];
                leaf[e] = l;
            }
        }
        if (this.meta.sampled) for (let e = 0; e < number.length; e++) number[e] /= 1000;
        return this.lives(leaf, birth, life, number, size);
    }

    readMaps(section) {
        const kinds = [Uint32Array, Uint16Array, Uint32Array, Float64Array];
        const [leaf, birth, life, size] = columns(section, ...kinds);
        return this.lives(running(leaf), birth, life, new Float64Array(leaf.length).fill(1), size);
    }

    /** CPU time and waits: sort and µs; copies: how many and bytes. */
    readSums(section) {
        const [leaf, cell, sort, amount] = columns(
            section,
            Uint32Array,
            Uint16Array,
            Float64Array,
            Float64Array,
        );
        return { leaf: running(leaf), cell, sort, amount, count: leaf.length };
    }

    readSource(files) {
        this.source = new Map();
        for (const { file, n, text } of files) {
            const at = new Map();
            let line = 0;
            n.forEach((step, i) => at.set((line += step), text[i]));
            this.source.set(file, at);
        }
    }

    readSeries() {
        this.series = this.meta.series.map((s) => ({
            ...s,
            t: secondsOf(s.t),
        }));
    }

    /** Memory of other spaces than that of the page, over time, and of devices as their drivers say. */
    stripsOfMemory() {
        const [start, end] = this.stretch;
        const spaces = this.meta.spaces
            .filter((s) => !s.shown && s.hi?.length)
            .map((s) => ({
                label: s.name,
                t: s.hi.map((_, i) => start + ((end - start) * i) / s.hi.length),
                v: s.hi,
            }));
        const devices = this.series
            .filter((s) => s.of === 'device' && /used|memory/.test(s.name))
            .map((s) => ({ ...s, label: s.label ?? `device ${s.id}` }));
        return [...spaces, ...devices].slice(0, 12);
    }

    seriesOf(of, name) {
        return this.series.find((s) => s.of === of && s.name === name);
    }

    /** The quiet edge nearest to a time; -1 is the start of the run. */
    quietAt(t) {
        const { quiet, edges } = this;
        if (!quiet.length || t < edges[quiet[0]] / 2) return -1;
        let lo = 0;
        let hi = quiet.length - 1;
        while (lo < hi) {
            const middle = (lo + hi) >> 1;
            if (edges[quiet[middle]] < t) lo = middle + 1;
            else hi = middle;
        }
        return lo && t - edges[quiet[lo - 1]] < edges[quiet[lo]] - t ? quiet[lo - 1] : quiet[lo];
    }

    /** So many quiet edges on. */
    quietAfter(edge, by) {
        const i = this.quiet.indexOf(edge) + by;
        return i < 0 ? -1 : (this.quiet[Math.min(i, this.quiet.length - 1)] ?? -1);
    }

    timeOf(edge) {
        return edge < 0 ? 0 : (this.edges[edge] ?? 0);
    }

    functionOf(frame) {
        return frame < 0 ? 'all' : this.strings[this.frames.name[frame]] || '(no name)';
    }
    fileOf(frame) {
        return frame < 0 ? '' : (this.strings[this.frames.file[frame]] ?? '');
    }
    moduleOf(frame) {
        return frame < 0 ? '' : (this.strings[this.frames.module[frame]] ?? '');
    }
    kindOf(frame) {
        return frame < 0 ? 'unknown' : (KINDS[this.frames.kind[frame]] ?? 'unknown');
    }
    /**
     * Where a frame is: file:line, or its module. A frame of two runs stands for all lines of its
     * function.
     */
    place(frame) {
        if (frame < 0) return '';
        const line = this.joint ? 0 : this.frames.line[frame];
        const file = short(this.fileOf(frame));
        return file ? file + (line ? `:${line}` : '') : short(this.moduleOf(frame));
    }
    /** The text of a frame's line, where the page has it. */
    textAt(frame) {
        return frame < 0 || this.joint
            ? ''
            : (this.source.get(this.fileOf(frame))?.get(this.frames.line[frame]) ?? '').trim();
    }

    fileOfLine(line) {
        return this.strings[this.lines.file[line]] ?? '';
    }
    /** Where a thread was started, in words; '' where that is not known. */
    /** Few programs name their threads. */
    threadName(thread) {
        const process = this.meta.processes[thread.process];
        return thread.name || (thread.tid === process?.pid ? 'main thread' : 'thread');
    }
    startOf(thread) {
        return thread?.line ? `started at ${this.lineName(thread.line)}` : '';
    }
    /** file:line; of lines that are not the program's own a text in parentheses. */
    lineName(line) {
        const number = this.lines.number[line];
        return number ? `${short(this.fileOfLine(line))}:${number}` : this.fileOfLine(line);
    }
    textOfLine(line) {
        return (this.source.get(this.fileOfLine(line))?.get(this.lines.number[line]) ?? '').trim();
    }

    /** The line to blame, or 0 where it would only say "native code without a line". */
    lineOf(leaf) {
        const line = this.leaves.line[leaf];
        return this.lines.number[line] || this.lines.python[line] ? line : 0;
    }

    /** The frame that asks for the memory of a leaf. */
    siteOf(leaf) {
        this.sites ??= new Sites(this);
        return this.sites.of(this.leaves.node[leaf], this.leaves.site[leaf] - 1);
    }
    /** The innermost function of it that is no allocator. */
    functionAt(leaf) {
        this.sites ??= new Sites(this);
        return this.sites.innermost(this.leaves.node[leaf], this.leaves.site[leaf] - 1);
    }

    /** Frames from a node outwards. */
    *stack(node) {
        for (let n = node; n > 0; n = this.parent[n]) yield this.frame[n];
    }
}
