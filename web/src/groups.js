// groups - leaves put together into rows: by line, site, function, file, module, thread, process,
// labels.

import { brief, short } from './format.js';

/**
 * A row: name, what is said beside it, its full path, and where a click leads: a place in the source,
 * or words to search for.
 * @typedef {{ name: string, more: string, path: string, file?: string, line?: number, find?: string }} Row
 */

const labelText = (labels) =>
    Object.entries(labels ?? {})
        .map(([k, v]) => `${k}=${v}`)
        .join(', ') || '(no label)';

function lineRow(m, line) {
    const path = m.fileOfLine(line);
    const number = m.lines.number[line];
    return {
        name: m.lineName(line),
        more: m.textOfLine(line),
        path,
        file: number ? path : '',
        line: number,
        lineId: line,
    };
}

function frameRow(m, frame, more) {
    const name = m.functionOf(frame);
    const path = m.fileOf(frame) || m.moduleOf(frame);
    if (frame < 0) return { name: '(no stack)', more: '', path: '' };
    return { name: brief(name), more, path: path ? `${name} (${path})` : name, find: name };
}

function threadRow(m, index) {
    const thread = m.meta.threads[index];
    if (!thread) return { name: '(unknown)', more: '', path: '' };
    const process = m.meta.processes[thread.process];
    return {
        name: `${m.threadName(thread)} ${thread.tid}`,
        more: [process?.name, m.startOf(thread)].filter(Boolean).join(', '),
        path: '',
        only: `t${index}`,
    };
}

function processRow(m, index) {
    const process = m.meta.processes[index];
    if (!process) return { name: '(unknown)', more: '', path: '' };
    return {
        name: `${process.name} ${process.pid}`,
        more: process.command ?? '',
        path: process.command ?? '',
        only: `p${index}`,
    };
}

/** key(model, leaf) tells rows apart; row(model, leaf) describes one. */
export const GROUPS = {
    line: {
        name: 'Line of the program',
        // without a line of the program: the function that asks for the memory
        key: (m, l) => m.lineOf(l) || `s${m.frames.name[m.siteOf(l)]}`,
        row: (m, l) => {
            const site = m.siteOf(l);
            return m.lineOf(l) ? lineRow(m, m.lineOf(l)) : frameRow(m, site, m.place(site));
        },
    },
    site: {
        name: 'Line that allocates',
        key: (m, l) => m.siteOf(l),
        row: (m, l) => frameRow(m, m.siteOf(l), m.place(m.siteOf(l))),
    },
    function: {
        name: 'Function',
        key: (m, l) => `${m.frames.name[m.functionAt(l)]}:${m.frames.file[m.functionAt(l)]}`,
        row: (m, l) => {
            const frame = m.functionAt(l);
            return frameRow(m, frame, short(m.fileOf(frame) || m.moduleOf(frame)));
        },
    },
    file: {
        name: 'File',
        key: (m, l) => m.lines.file[m.leaves.line[l]] ?? 0,
        row: (m, l) => {
            const path = m.leaves.line[l] ? m.fileOfLine(m.leaves.line[l]) : '';
            const row = { name: short(path) || '(no file of the program)', more: path, path };
            return m.source.has(path) ? { ...row, file: path, line: 0 } : row;
        },
    },
    module: {
        name: 'Module',
        key: (m, l) => m.frames.module[m.frame[m.leaves.node[l]]] ?? 0,
        row: (m, l) => {
            const path = m.moduleOf(m.frame[m.leaves.node[l]]);
            return { name: short(path) || '(Python or unknown)', more: path, path, find: path };
        },
    },
    thread: {
        name: 'Thread',
        key: (m, l) => m.leaves.thread[l],
        row: (m, l) => threadRow(m, m.leaves.thread[l]),
    },
    process: {
        name: 'Process',
        key: (m, l) => m.meta.threads[m.leaves.thread[l]]?.process ?? -1,
        row: (m, l) => processRow(m, m.meta.threads[m.leaves.thread[l]]?.process ?? -1),
    },
    labels: {
        name: 'Labels',
        key: (m, l) => m.leaves.labels[l],
        row: (m, l) => ({ name: labelText(m.meta.labels[m.leaves.labels[l]]), more: '', path: '' }),
    },
};

/** Groupings that tell anything apart in this run. */
export function groupingsOf(model) {
    const { processes, threads, labels } = model.meta;
    const idle = {
        process: processes.length < 2,
        thread: threads.length < 2,
        labels: labels.length < 2,
    };
    return Object.keys(GROUPS).filter((by) => !idle[by]);
}

/** group[leaf] = row; made once for each grouping. @returns {{ group: Int32Array, rows: Row[] }} */
export function groupsOf(model, by) {
    model.grouped ??= new Map();
    if (!model.grouped.has(by)) model.grouped.set(by, make(model, GROUPS[by] ?? GROUPS.line));
    return model.grouped.get(by);
}

function make(model, { key, row }) {
    const ids = new Map();
    const rows = [];
    const group = new Int32Array(model.leaves.count);
    for (let l = 0; l < group.length; l++) {
        const k = key(model, l);
        let id = ids.get(k);
        if (id === undefined) {
            id = rows.push(row(model, l)) - 1;
            ids.set(k, id);
        }
        group[l] = id;
    }
    return { group, rows };
}

/** Values of leaves added up by row. */
export function addUp({ group, rows }, values, out = new Float64Array(rows.length)) {
    for (let l = 0; l < values.length; l++) out[group[l]] += values[l];
    return out;
}

/** Rows with a value, the greatest first. */
export function heaviest(sums, most = Infinity) {
    const order = [];
    for (let i = 0; i < sums.length; i++) if (sums[i] > 0) order.push(i);
    order.sort((a, b) => sums[b] - sums[a]);
    return order.length > most ? order.slice(0, most) : order;
}

/** Live bytes over time for some rows; pick[i] is a row. */
export function seriesOf(sums, { group, rows }, pick, measure) {
    const place = new Int32Array(rows.length).fill(-1);
    pick.forEach((row, i) => (place[row] = i));
    const of = new Int32Array(group.length);
    for (let l = 0; l < group.length; l++) of[l] = place[group[l]];
    return sums.series(of, pick.length, measure);
}
