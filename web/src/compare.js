// compare - two runs in one trie: frames are the same where function, file and module have the same
// name.

import { changed } from './changed.js';
import { short } from './format.js';
import { addUp, groupsOf } from './groups.js';
import { pairMoments, timesHere } from './moments.js';
import { renamed } from './renamed.js';
import { Sums } from './sums.js';

const frameKey = (m, frame, nameOf) =>
    `${m.functionOf(frame)}\0${nameOf(short(m.fileOf(frame)))}\0${short(m.moduleOf(frame))}`;

const LEAST = 0.005; // of what the newer run has: a smaller change deserves no card

const same = (name) => name;

/** Both tries in one; maps[i][node of run i] = node of the whole. names[i]: what its files are called. */
function join(runs, names) {
    const whole = { children: [new Map()], frame: [-1], owner: [runs[0]] };
    const maps = runs.map((m, i) => {
        const map = new Int32Array(m.parent.length);
        const keys = Array.from({ length: m.frames.count }, (_, f) => frameKey(m, f, names[i]));
        for (let n = 1; n < map.length; n++)
            map[n] = childOf(whole, map[m.parent[n]], keys[m.frame[n]], m, m.frame[n]);
        return map;
    });
    return { whole, maps };
}

function childOf({ children, frame, owner }, parent, key, model, of) {
    let child = children[parent].get(key);
    if (child === undefined) {
        child = children.length;
        children[parent].set(key, child);
        children.push(new Map());
        frame.push(of);
        owner.push(model);
    }
    return child;
}

/** Nodes in preorder, with the levels to leave before each. */
function preorder(children) {
    const order = [];
    const up = [];
    const todo = [[0, 0]];
    let depth = -1;
    while (todo.length) {
        const [node, deep] = todo.pop();
        order.push(node);
        up.push(order.length > 1 ? depth - deep + 1 : 0);
        depth = deep;
        for (const child of [...children[node].values()].reverse()) todo.push([child, deep + 1]);
    }
    return { order, up };
}

/** Gives a model frames that only the other run has. */
class Frames {
    constructor(model, other) {
        Object.assign(this, { model, other, added: new Map() });
        this.strings = new Map(model.strings.map((text, i) => [text, i]));
        this.columns = Object.fromEntries(
            ['name', 'file', 'line', 'module', 'kind'].map((k) => [k, Array.from(model.frames[k])]),
        );
    }
    string(text) {
        if (!this.strings.has(text)) this.strings.set(text, this.model.strings.push(text) - 1);
        return this.strings.get(text);
    }
    of(frame) {
        if (!this.added.has(frame)) {
            const { name, file, line, module, kind } = this.other.frames;
            const text = (column) => this.string(this.other.strings[column[frame]] ?? '');
            this.added.set(frame, this.columns.name.push(text(name)) - 1);
            this.columns.file.push(text(file));
            this.columns.line.push(line[frame]);
            this.columns.module.push(text(module));
            this.columns.kind.push(kind[frame]);
        }
        return this.added.get(frame);
    }
    finish() {
        const { name, file, line, module, kind } = this.columns;
        this.model.frames = {
            name: Uint32Array.from(name),
            file: Uint32Array.from(file),
            line: Uint32Array.from(line),
            module: Uint32Array.from(module),
            kind: Uint8Array.from(kind),
            count: name.length,
        };
    }
}

/** Rows of both runs are one where this is the same; of lines the text tells, as numbers move. */
function rowKey(by, row, nameOf) {
    if (by === 'line' && row.lineId) return `${nameOf(short(row.path))}\0${row.more || row.line}`;
    if (by === 'thread') return row.name.replace(/ \d+$/, '');
    if (by === 'process') return row.name.replace(/ \d+$/, '');
    if (by === 'file' || by === 'module') return nameOf(short(row.path)) || row.name;
    const place = by === 'site' || by === 'function' ? row.more.replace(/:\d+$/, '') : '';
    return `${row.name}\0${nameOf(place)}`;
}

export class Comparison {
    /**
     * @param {import('./model.js').Model} model the newer run, which gets the joint trie; @param
     * other the older
     */
    constructor(model, other) {
        Object.assign(this, { newer: model, model: other, paired: new Map() });
        this.sums = new Sums(other);
        this.moments = pairMoments(model, other);
        const names = renamed(model, other);
        this.nameOf = (name) => names.get(name) ?? name;
        this.edgesHere = timesHere(
            Array.from(this.moments, ([edge, { time }]) => ({
                there: time,
                here: edge < 0 ? 0 : model.timeOf(edge),
            })),
            other.edges,
        );
        this.unite();
    }

    unite() {
        const { newer, model: other } = this;
        const { whole, maps } = join([newer, other], [same, this.nameOf]);
        const { order, up } = preorder(whole.children);
        const place = new Int32Array(order.length);
        order.forEach((node, i) => (place[node] = i));
        const frames = new Frames(newer, other);
        const frame = order.map((node) =>
            node === 0
                ? 0
                : 1 +
                  (whole.owner[node] === newer ? whole.frame[node] : frames.of(whole.frame[node])),
        );
        frames.finish();
        newer.joint = true;
        newer.readNodes(Uint32Array.from(up), Int32Array.from(frame));
        this.nodeOfLeaf = Int32Array.from(other.leaves.node, (n) => place[maps[1][n]]);
        newer.leaves.node = newer.leaves.node.map((n) => place[maps[0][n]]);
    }

    /**
     * The stretch of the older run that a window is compared with: between the same regions, steps or
     * marks, where both runs have them; else the same part of the run.
     */
    windowOf(from, to) {
        const { newer, model } = this;
        const last = model.cells - 1;
        if (from === -1 && to === newer.cells - 1) return { from: -1, to: last };
        const [a, b] =
            this.pairOf(from, to)?.map((moment) => moment.time) ??
            [newer.timeOf(from), newer.timeOf(to)].map((t) => (t / (newer.end || 1)) * model.end);
        const start = from < 0 ? -1 : model.quietAt(a);
        const end = model.quietAt(b);
        return end > start
            ? { from: start, to: end }
            : { from: model.quietAfter(end, -1), to: end };
    }

    /** Where both ends of a window are moments that the older run has, too: these two. */
    pairOf(from, to) {
        const pair = [this.moments.get(from), this.moments.get(to)];
        return pair[0]?.time < pair[1]?.time ? pair : null;
    }

    /** What every node of the joint trie grew by. */
    change(totals, values) {
        const { parent } = this.newer;
        const before = new Float64Array(parent.length);
        for (let l = 0; l < values.length; l++) before[this.nodeOfLeaf[l]] += values[l];
        for (let n = before.length - 1; n > 0; n--) before[parent[n]] += before[n];
        return totals.map((v, n) => v - before[n]);
    }

    /** The rows of both runs; rowOfOther[row of the older] = row. */
    groups(by) {
        if (!this.paired.has(by)) this.paired.set(by, this.pair(by));
        return this.paired.get(by);
    }
    pair(by) {
        const ours = groupsOf(this.newer, by);
        const theirs = groupsOf(this.model, by);
        const rows = [...ours.rows];
        const ids = new Map(rows.map((row, i) => [rowKey(by, row, same), i]));
        if (by === 'line') this.pairChanged(ours.rows, theirs.rows, ids);
        const rowOfOther = theirs.rows.map((row) => {
            const key = rowKey(by, row, this.nameOf);
            if (!ids.has(key))
                ids.set(
                    key,
                    rows.push({ ...row, more: `${row.more} (only in the other run)` }) - 1,
                );
            return ids.get(key);
        });
        return { group: ours.group, rows, rowOfOther, theirs };
    }

    /** Lines of the older run whose text was changed: the key of each leads to the row of the newer. */
    pairChanged(ours, theirs, ids) {
        const keys = theirs.map((row) => rowKey('line', row, this.nameOf));
        const known = new Set(keys);
        const told = (rows, nameOf, isOther) =>
            rows.flatMap((row, place) =>
                row.lineId && isOther(place)
                    ? [{ place, file: nameOf(short(row.path)), line: row.line, text: row.more }]
                    : [],
            );
        const gone = told(theirs, this.nameOf, (i) => !ids.has(keys[i]));
        const added = told(ours, same, (i) => !known.has(rowKey('line', ours[i], same)));
        for (const [older, newer] of changed(gone, added)) ids.set(keys[older], newer);
    }

    changeOfRows({ rowOfOther, theirs }, sums, values) {
        const out = Float64Array.from(sums);
        addUp(theirs, values).forEach((v, row) => (out[rowOfOther[row]] -= v));
        return out;
    }

    /** The largest changes of the peak, as cards. */
    findings(app) {
        const measure = app.measures.includes('peak') ? 'peak' : app.measures[0];
        if (!measure) return [];
        const last = (m) => m.cells - 1;
        const groups = this.groups('line');
        const now = addUp(groups, app.sums.leaves(measure, -1, last(app.model)));
        const change = this.changeOfRows(
            groups,
            now,
            this.sums.leaves(measure, -1, last(this.model)),
        );
        const least = LEAST * now.reduce((sum, v) => sum + v, 0);
        const order = Array.from(change.keys())
            .filter((r) => Math.abs(change[r]) > least)
            .sort((a, b) => Math.abs(change[b]) - Math.abs(change[a]));
        return order
            .slice(0, 4)
            .map((r) => this.finding(groups.rows[r], change[r], now[r], measure, app));
    }
    finding(row, change, now, measure, app) {
        const words = app.words(measure);
        return {
            kind: change > 0 ? 'grew' : 'shrank',
            severity: change > 0 ? 3 : 1,
            code: row.more,
            view: 'change',
            measure,
            title: `${row.name}: ${words.signed(change)} ${words.name}`,
            evidence: `${words.plain(now - change)} → ${words.plain(now)}`,
            file: row.file,
            line: row.line,
        };
    }
}
