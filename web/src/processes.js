// processes - every process and thread as a bar over time; a click looks at that one alone.

import { h, mark, put, show } from './dom.js';
import { bytes, micros, percent, plural, share, time } from './format.js';
import { colour, sized, steps, under } from './paint.js';
import { VirtualRows } from './rows.js';

const ROW = 28;
const COLUMNS = [
    ['name', 'Process'],
    ['life', 'Life, with its RSS'],
    ['num', 'Peak RSS'],
    ['num opt', 'CPU'],
    ['num opt', 'Ended'],
    ['num value', ''],
];

/** How a process ended, in words. */
function endOf({ how, status, end }) {
    if (end == null || how === 'outlived') return 'runs on';
    if (how === 'exited') return status ? `status ${status}` : 'ok';
    if (how === 'signal') return `signal ${status ?? ''}`;
    if (how === 'oom') return 'out of memory';
    return how === 'exec' ? 'exec' : (how ?? '');
}

/** Processes with their threads, children below their parents. */
function tree({ processes, threads }) {
    const children = new Map();
    processes.forEach((p, i) => children.set(p.parent, [...(children.get(p.parent) ?? []), i]));
    const ofProcess = new Map();
    threads.forEach((t, i) => ofProcess.set(t.process, [...(ofProcess.get(t.process) ?? []), i]));
    const out = [];
    const seen = new Set();
    const visit = (i, depth) => {
        if (seen.has(i)) return;
        seen.add(i);
        out.push({ key: `p${i}`, index: i, depth, process: processes[i] });
        const own = ofProcess.get(i) ?? [];
        if (own.length > 1)
            for (const t of own)
                out.push({ key: `t${t}`, index: t, depth: depth + 1, thread: threads[t] });
        for (const child of children.get(i) ?? [])
            visit(child, depth + (processes[child].pid === processes[i].pid ? 0 : 1)); // exec(2)
    };
    for (const root of children.get(-1) ?? []) visit(root, 0);
    processes.forEach((_, i) => visit(i, 0)); // whose parent is not known
    return out;
}

export class Processes {
    constructor(host, app) {
        const { model } = app;
        this.app = app;
        this.tree = tree(model.meta);
        this.rss = new Map(
            model.series
                .filter((s) => s.of === 'process' && s.name === 'rss')
                .map((s) => [s.id, s]),
        );
        this.most = 1;
        for (const s of this.rss.values()) for (const v of s.v) this.most = Math.max(this.most, v);
        this.again = h('button', { onclick: () => app.set({ only: '' }) }, 'Show all again');
        this.hint = h('span', {});
        this.measure = h('span', { class: 'num value', role: 'columnheader' });
        this.body = h('div', { class: 'tbody', role: 'rowgroup' });
        const head = h(
            'div',
            { class: 'pr th', role: 'row' },
            COLUMNS.slice(0, -1).map(([kind, name]) =>
                h('span', { class: kind, role: 'columnheader' }, name),
            ),
            this.measure,
        );
        this.view = h(
            'div',
            {
                class: 'tview procs',
                role: 'table',
                'aria-label': 'processes and threads',
                'aria-rowcount': this.tree.length + 1,
            },
            h('div', { class: 'thead', role: 'rowgroup' }, head),
            this.body,
        );
        show(host, h('p', { class: 'hint' }, this.hint, ' ', this.again), this.view);
        this.list = new VirtualRows(
            this.view,
            this.body,
            ROW,
            () => this.makeRow(),
            (row, item) => this.fillRow(row, item),
        );
        this.view.style.setProperty('--rows', String(this.tree.length));
    }

    forget() {
        for (const row of this.list.rows.pool) row.drawn = null;
    }

    update() {
        const { app } = this;
        const { meta } = app.model;
        this.addUp();
        const all = `${plural(meta.processes.length, 'process', 'processes')}${meta.threads.length ? `, ${plural(meta.threads.length, 'recorded thread')}` : ''}.`;
        const click = app.measures.length ? ' Click one to see it alone in every view.' : '';
        put(this.hint, app.state.only ? 'Every view shows this one alone.' : all + click);
        this.again.hidden = !app.state.only;
        put(this.measure, app.measureName);
        this.list.show(this.tree);
    }

    /** The measure by thread and by process, whatever the filter. */
    addUp() {
        const { model, sums, state } = this.app;
        this.byThread = new Float64Array(model.meta.threads.length);
        this.byProcess = new Float64Array(model.meta.processes.length);
        const values = state.measure
            ? sums.unfiltered(() => sums.leaves(state.measure, state.from, state.to))
            : [];
        values.forEach((v, l) => (this.byThread[model.leaves.thread[l]] += v));
        model.meta.threads.forEach((t, i) => (this.byProcess[t.process] += this.byThread[i]));
        this.all = this.byProcess.reduce((a, b) => a + b, 0);
    }

    makeRow() {
        const cells = COLUMNS.map(([kind]) => h('span', { class: kind, role: 'cell' }));
        const [place, life, rss, cpu, ended, value] = cells;
        const [name, id, bar, canvas] = [
            h('b'),
            h('span', { class: 'soft' }),
            h('i'),
            h('canvas', { 'aria-hidden': 'true' }),
        ];
        place.append(name, id);
        bar.append(canvas);
        life.append(bar);
        const row = {
            place,
            name,
            id,
            life,
            bar,
            canvas,
            rss,
            cpu,
            ended,
            value,
            item: null,
            drawn: null,
        };
        const pick = () =>
            this.app.set({ only: this.app.state.only === row.item.key ? '' : row.item.key });
        row.element = h(
            'div',
            {
                class: 'pr',
                role: 'row',
                tabindex: '0',
                onclick: pick,
                onkeydown: (ev) => ev.key === 'Enter' && pick(),
            },
            cells,
        );
        return row;
    }

    fillRow(row, item) {
        const { app } = this;
        const { process, thread } = item;
        const one = process ?? thread;
        const value = process ? this.byProcess[item.index] : this.byThread[item.index];
        row.item = item;
        put(row.name, one.name || (thread ? app.model.threadName(thread) : '?'));
        const start = app.model.startOf(thread);
        put(row.id, process ? ` pid ${process.pid}` : ` tid ${thread.tid}${start && `, ${start}`}`);
        row.place.style.paddingLeft = `calc(${Math.min(item.depth, 12)} * var(--step))`;
        mark(
            row.element,
            'title',
            [process?.command, start, process?.unrecorded && `not recorded: ${process.unrecorded}`]
                .filter(Boolean)
                .join('\n') || null,
        );
        row.element.classList.toggle('on', app.state.only === item.key);
        row.element.classList.toggle('thread', Boolean(thread));
        put(row.rss, process ? bytes(process.rss) : '');
        put(row.cpu, process ? micros(process.cpu) : '');
        put(row.ended, process ? endOf(process) : '');
        put(row.value, this.valueText(process, value));
        if (row.drawn !== item.key) this.drawLife(row, item);
    }

    valueText(process, value) {
        if (!this.app.state.measure) return '';
        if (process && process.recorded === false) return 'n/a';
        return value ? `${this.app.format(value)} · ${percent(share(value, this.all))}` : '–';
    }

    drawLife(row, { process, thread, key, index }) {
        const { model } = this.app;
        const one = process ?? thread;
        const [start, end] = [one.start / 1e6, (one.end ?? model.meta.duration) / 1e6];
        const part = (t) => Math.max(0, Math.min(100, (t / (model.end || 1)) * 100));
        row.bar.style.left = `${part(start)}%`;
        row.bar.style.width = `${Math.max(part(end) - part(start), 0.3)}%`;
        row.life.title = `${time(start)} – ${time(end)}`;
        row.drawn = key;
        const rss = process ? this.rss.get(index) : null;
        row.canvas.hidden = !(rss?.v.length > 1);
        if (!row.canvas.hidden) this.drawRss(row, rss, start, end);
    }

    drawRss(row, rss, start, end) {
        const [width, height] = [row.bar.clientWidth || 1, 20];
        const c = sized(row.canvas, width, height);
        const x = (t) => ((t - start) / (end - start || 1)) * width;
        const y = (v) => height - (v / this.most) * (height - 1);
        steps(c, rss.t, rss.v, x, y, end);
        under(c, rss.t, x, y, end, colour('--rss'));
    }
}
