// source - the program's files with what each line cost in the window.
//
// The rows of a file are made once; a move of the window changes only the numbers of lines that
// cost.

import { extent, h, mark, put, show } from './dom.js';
import { bytes, micros, percent, share, short } from './format.js';
import { seriesOf } from './groups.js';
import { roomOf, spark } from './paint.js';
import { Rows } from './rows.js';

const LEAST = 0.0005; // a part below this is not shown
const HOT = 0.05;
const MOST_FILES = 60;

/** Columns beside CPU, in the order of the page. */
const COSTS = [
    ['waits', 'Waiting', micros],
    ['peak', 'At peak', bytes],
    ['kept', 'Kept', bytes],
    ['allocated', 'Allocated', bytes],
    ['copied', 'Copied', bytes],
];
const SORTS = [
    [1, 'Python', 'python'],
    [2, 'native', 'native'],
    [3, 'kernel', 'kernel'],
    [0, 'unknown', 'unknown'],
];

export class Source {
    constructor(host, app) {
        this.app = app;
        this.costs = COSTS.filter(([id]) => app.measures.includes(id));
        this.files = h('nav', { class: 'files', 'aria-label': 'files' });
        this.fileRows = new Rows(
            this.files,
            () => this.makeFile(),
            (row, file) => this.fillFile(row, file),
        );
        this.code = h('div', {
            class: 'code',
            role: 'table',
            tabindex: '0',
            'aria-label': 'source with costs',
        });
        this.code.onpointerover = (ev) => this.explain(ev.target.closest('.cost'));
        this.code.style.setProperty(
            '--columns',
            String(this.costs.length + (app.model.has.cpu ? 1 : 0)),
        );
        show(host, h('div', { class: 'source-row' }, this.files, this.code));
        this.lineOf = this.linesByFile();
    }

    /** For each file, its lines that may cost. */
    linesByFile() {
        const { model } = this.app;
        const files = new Map();
        for (let line = 1; line < model.lines.count; line++) {
            if (!model.lines.number[line]) continue;
            const file = model.fileOfLine(line);
            if (!files.has(file)) files.set(file, []);
            files.get(file).push(line);
        }
        return files;
    }

    forget() {
        this.asked = null;
        for (const line of this.marked ?? []) if (line.parts) line.parts.drawn = false;
    }

    update(moving) {
        const asked = [this.app.figures, this.app.state.file, this.app.state.line].every(
            (v, i) => v === this.asked?.[i],
        );
        this.asked = [this.app.figures, this.app.state.file, this.app.state.line];
        // the pointer rests: no sum is new
        if (asked && this.current) return void (moving || this.drawSparks());
        this.addUp();
        const files = this.ranked();
        const named = (file) => files.find((f) => f.file === file);
        // it stays while the window moves
        const wanted = named(this.app.state.file) ?? named(this.current) ?? files[0];
        this.fileRows.show(
            files.slice(0, MOST_FILES).map((f) => ({ ...f, current: f === wanted })),
        );
        if (!wanted) return this.showNothing();
        if (wanted.file !== this.current) this.build(wanted.file);
        this.fill(moving);
        this.goTo(this.app.state.line);
    }

    showNothing() {
        this.current = null;
        show(
            this.code,
            h(
                'p',
                { class: 'hint' },
                'No line of the program’s own source has a cost in this window. ' +
                    'Native code has lines only where it was built with debug information (-g).',
            ),
        );
    }

    /** Every cost by line. */
    addUp() {
        const { model, figures, sums, state } = this.app;
        const byLine = (values) => {
            const out = new Float64Array(model.lines.count || 1);
            for (let l = 0; l < values.length; l++) out[model.leaves.line[l]] += values[l];
            return out;
        };
        this.sums = Object.fromEntries(this.costs.map(([id]) => [id, byLine(figures.of(id))]));
        this.cpu = model.has.cpu
            ? SORTS.map(([sort]) => byLine(sums.cpuOfSort(sort, state.from, state.to)))
            : [];
    }

    cpuOf(line) {
        return this.cpu.reduce((sum, sort) => sum + sort[line], 0);
    }

    /** Files by what they cost of everything. */
    ranked() {
        const { totals } = this.app;
        const list = [];
        for (const [file, lines] of this.lineOf) {
            const row = { file, cpu: 0, peak: 0, weight: 0 };
            for (const line of lines) {
                row.cpu += this.cpuOf(line);
                row.peak += this.sums.peak?.[line] ?? 0;
                for (const [id] of this.costs) row.weight += share(this.sums[id][line], totals[id]);
            }
            row.weight += share(row.cpu, totals.cpu);
            if (row.weight > LEAST || file === this.app.state.file) list.push(row);
        }
        return list.sort((a, b) => b.weight - a.weight);
    }

    makeFile() {
        const [name, cpu, memory] = [h('b'), h('i', { class: 'cpu' }), h('i', { class: 'mem' })];
        const row = { name, cpu, memory, file: '' };
        row.element = h(
            'button',
            { onclick: () => this.app.set({ file: row.file, line: 0 }) },
            name,
            h('span', { class: 'mini' }, cpu),
            h('span', { class: 'mini' }, memory),
        );
        return row;
    }
    fillFile(row, { file, cpu, peak, current }) {
        const { totals } = this.app;
        row.file = file;
        put(row.name, short(file));
        row.element.title = `${file}\nCPU ${percent(share(cpu, totals.cpu))}, at the peak ${percent(share(peak, totals.peak))}`;
        mark(row.element, 'aria-current', current ? 'true' : null);
        extent(row.cpu, share(cpu, totals.cpu));
        extent(row.memory, share(peak, totals.peak));
    }

    /** The rows of one file. */
    build(file) {
        const { model } = this.app;
        const text = model.source.get(file);
        const costs = new Map(
            (this.lineOf.get(file) ?? []).map((line) => [model.lines.number[line], line]),
        );
        const numbers = text ? [...text.keys()] : [...costs.keys()].sort((a, b) => a - b);
        Object.assign(this, { current: file, marked: [], went: null });
        const rows = [this.head(file)];
        let before = 0;
        for (const number of numbers) {
            if (before && number !== before + 1)
                rows.push(h('div', { class: 'ln gap', 'aria-hidden': 'true' }, '⋯'));
            rows.push(this.lineRow(number, text?.get(number) ?? '', costs.get(number)));
            before = number;
        }
        if (!text)
            rows.splice(1, 0, h('p', { class: 'hint' }, 'The trace holds no text of this file.'));
        show(this.code, rows);
        this.code.scrollTop = 0;
    }

    head(file) {
        const cell = (kind, name) => h('span', { class: kind, role: 'columnheader' }, name);
        return h(
            'div',
            { class: 'ln th', role: 'row' },
            this.app.model.has.cpu ? cell('cost cpu', 'CPU') : null,
            this.costs.map(([id, name]) => cell(`cost ${id}`, name)),
            this.app.model.has.heap ? cell('trend', 'Live') : null,
            cell('no', ''),
            cell('text', file),
        );
    }

    lineRow(number, text, line) {
        const row = { number, line, parts: null };
        const cell = (kind, ...children) => h('span', { class: kind, role: 'cell' }, children);
        if (line) row.parts = this.makeParts();
        const empty = () => [
            this.app.model.has.cpu ? cell('cost cpu') : null,
            this.costs.map(([id]) => cell(`cost ${id}`)),
            this.app.model.has.heap ? cell('trend') : null,
        ];
        row.element = h(
            'div',
            { class: 'ln', role: 'row' },
            row.parts ? row.parts.cells : empty(),
            cell('no', String(number)),
            cell('text', text),
        );
        row.element.dataset.line = String(number);
        if (line) this.marked.push(row);
        return row.element;
    }

    makeParts() {
        const { has } = this.app.model;
        const cost = (id) => {
            const [bar, text] = [h('i'), h('em')];
            return { bar, text, cell: h('span', { class: `cost ${id}`, role: 'cell' }, bar, text) };
        };
        const cpu = has.cpu ? cost('cpu') : null;
        const sorts = SORTS.map(([, , kind]) => h('u', { class: kind }));
        cpu?.bar.append(...sorts);
        const others = this.costs.map(([id]) => cost(id));
        const canvas = h('canvas', { 'aria-hidden': 'true', hidden: true });
        const trend = has.heap ? h('span', { class: 'trend spark', role: 'cell' }, canvas) : null;
        return {
            cpu,
            sorts,
            others,
            canvas,
            cells: [cpu?.cell, ...others.map((o) => o.cell), trend],
            drawn: false,
        };
    }

    fill(moving) {
        const most = { cpu: 0 };
        for (const { line } of this.marked) {
            most.cpu = Math.max(most.cpu, this.cpuOf(line));
            for (const [id] of this.costs) most[id] = Math.max(most[id] ?? 0, this.sums[id][line]);
        }
        for (const row of this.marked) this.fillLine(row, most);
        if (!moving) this.drawSparks();
    }

    fillLine({ line, parts, element, number }, most) {
        const { totals, state } = this.app;
        const set = ({ bar, text }, value, top, words, total) => {
            const shown = share(value, total) >= LEAST;
            extent(bar, shown ? share(value, top) : 0);
            put(text, shown ? words : '');
        };
        const cpu = this.cpuOf(line);
        if (parts.cpu) {
            set(parts.cpu, cpu, most.cpu, percent(share(cpu, totals.cpu)), totals.cpu);
            parts.sorts.forEach((u, i) => (u.style.flexGrow = String(this.cpu[i][line])));
        }
        this.costs.forEach(([id, , words], i) =>
            set(
                parts.others[i],
                this.sums[id][line],
                most[id],
                words(this.sums[id][line]),
                totals[id],
            ),
        );
        const hot =
            share(cpu, totals.cpu) > HOT || share(this.sums.peak?.[line] ?? 0, totals.peak) > HOT;
        element.classList.toggle('hot', hot);
        element.classList.toggle('on', state.line === number);
    }

    /** What a cell says in words is made when one points at it. */
    explain(cell) {
        const row = this.marked?.find(({ element }) => element === cell?.parentElement);
        if (!row?.parts) return;
        const { totals } = this.app;
        const id = this.costs.find(([name]) => cell.classList.contains(name))?.[0];
        const words = id
            ? `${percent(share(this.sums[id][row.line], totals[id]))} of all`
            : SORTS.map(([, name], i) => `${name} ${micros(this.cpu[i][row.line])}`).join(', ');
        mark(cell, 'title', words);
    }

    drawSparks() {
        const { model, sums, totals } = this.app;
        if (!model.has.heap) return;
        const rows = this.marked.filter(
            ({ line, parts }) =>
                !parts.drawn && share(this.sums.allocated[line], totals.allocated) > LEAST,
        );
        if (!rows.length) return;
        const groups = { group: model.leaves.line, rows: { length: model.lines.count } };
        const room = roomOf(rows[0].parts.canvas.parentElement);
        seriesOf(
            sums,
            groups,
            rows.map((r) => r.line),
        ).forEach((series, i) => {
            const { parts } = rows[i];
            parts.canvas.hidden = false;
            parts.drawn = true;
            spark(parts.canvas, room, series, model.edges, model.end);
        });
    }

    /** Brings the line that was asked for into sight, once; else the one that costs most. */
    goTo(line) {
        const key = `${this.current}:${line}`;
        if (this.went === key) return;
        this.went = key;
        for (const el of this.code.querySelectorAll('.ln.on')) el.classList.remove('on');
        const on = this.code.querySelector(`[data-line="${Number(line || this.heaviest())}"]`);
        if (line) on?.classList.add('on');
        if (on) this.code.scrollTop = on.offsetTop - this.code.clientHeight / 3;
    }
    heaviest() {
        const { totals } = this.app;
        const weight = (line) =>
            share(this.cpuOf(line), totals.cpu) +
            this.costs.reduce((sum, [id]) => sum + share(this.sums[id][line], totals[id]), 0);
        return (
            this.marked.reduce(
                (best, row) => (!best || weight(row.line) > weight(best.line) ? row : best),
                null,
            )?.number ?? 0
        );
    }
}
