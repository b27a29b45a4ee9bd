// table - rows of lines, sites, functions … with the measure of the window; the flame in accessible
// form.

import { copy, extent, h, mark, put, show } from './dom.js';
import { count, percent, plural, share, signed, whole } from './format.js';
import { addUp, GROUPS, groupingsOf, groupsOf, seriesOf } from './groups.js';
import { roomOf, spark } from './paint.js';
import { VirtualRows } from './rows.js';

const ROW = 30;

const cellOfCsv = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

export class Table {
    constructor(host, app) {
        Object.assign(this, { app, curves: new Map(), active: -1 });
        this.head = h('div', { class: 'tr th', role: 'row' });
        this.body = h('div', { class: 'tbody', role: 'rowgroup' });
        this.view = h(
            'div',
            {
                class: 'tview',
                role: 'grid',
                tabindex: '0',
                'aria-label': 'rows of the measure; arrow keys walk, Enter opens',
                onkeydown: (ev) => this.key(ev),
            },
            h('div', { role: 'rowgroup', class: 'thead' }, this.head),
            this.body,
        );
        this.pick = h(
            'select',
            { 'aria-label': 'rows are', onchange: () => app.set({ group: this.pick.value }) },
            groupingsOf(app.model).map((by) => h('option', { value: by }, GROUPS[by].name)),
        );
        this.note = h('span', { class: 'soft' });
        const csv = h(
            'button',
            { class: 'right', onclick: () => copy(this.csv(), csv) },
            'Copy as CSV',
        );
        show(
            host,
            h('div', { class: 'bar' }, h('label', {}, 'Rows: ', this.pick), this.note, csv),
            this.view,
        );
        this.list = new VirtualRows(
            this.view,
            this.body,
            ROW,
            () => this.makeRow(),
            (row, id, i) => this.fillRow(row, id, i),
        );
        this.list.onpaint = (ids) => this.moving || this.drawSparks(ids);
    }

    forget() {
        this.asked = null;
        this.curves.clear();
        for (const row of this.list.rows.pool) row.drawn = null;
    }

    update(moving) {
        const { app } = this;
        const asked = [app.figures, app.match, app.state.group, app.state.sort];
        this.moving = moving;
        // the pointer rests
        if (asked.every((v, i) => v === this.asked?.[i])) return void this.list.paint();
        const by = groupingsOf(app.model).includes(app.state.group) ? app.state.group : 'line';
        const lives = app.state.measure === 'mapped' ? 'mapped' : 'heap';
        if (by !== this.by || lives !== this.lives) this.forget();
        if (by !== this.by) this.active = -1;
        Object.assign(this, { by, lives });
        this.pick.value = by;
        this.addUp();
        this.order = this.sorted();
        put(this.note, plural(this.order.length, 'row'));
        this.showHead();
        mark(this.view, 'aria-rowcount', this.order.length + 1);
        this.view.style.setProperty('--rows', String(Math.max(4, this.order.length)));
        this.list.show(this.order);
        this.asked = asked;
    }

    addUp() {
        const { model, figures, match, base } = this.app;
        const groups = base ? base.groups(this.by) : groupsOf(model, this.by);
        const chosen = (values, node = model.leaves.node) =>
            match ? values.map((v, l) => (match.under[node[l]] ? v : 0)) : values;
        this.rows = groups.rows;
        this.groups = groups;
        this.value = addUp(groups, chosen(figures.values));
        this.blocks = figures.numbers ? addUp(groups, chosen(figures.numbers)) : null;
        this.change = base
            ? base.changeOfRows(groups, this.value, chosen(figures.baseValues, base.nodeOfLeaf))
            : null;
    }

    get sortKey() {
        const wanted = this.app.state.sort;
        const known = { name: true, value: true, change: this.change, blocks: this.blocks };
        return known[wanted] ? wanted : this.change ? 'change' : 'value';
    }

    sorted() {
        const order = [];
        for (let i = 0; i < this.value.length; i++)
            if (this.value[i] > 0 || this.change?.[i]) order.push(i);
        const { sortKey, rows } = this;
        if (sortKey === 'name')
            return order.sort((a, b) =>
                rows[a].name < rows[b].name ? -1 : rows[a].name > rows[b].name ? 1 : a - b,
            );
        const by = this[sortKey];
        return order.sort((a, b) => Math.abs(by[b]) - Math.abs(by[a]) || a - b);
    }

    showHead() {
        const { app } = this;
        const key = [this.by, app.state.measure, this.sortKey].join();
        if (this.headOf === key) return;
        this.headOf = key;
        const sortable = (id, name, kind) =>
            h(
                'span',
                {
                    role: 'columnheader',
                    class: kind,
                    'aria-sort':
                        this.sortKey === id ? (id === 'name' ? 'ascending' : 'descending') : 'none',
                },
                h(
                    'button',
                    { onclick: () => app.set({ sort: id }) },
                    name + (this.sortKey === id ? ' ↓' : ''),
                ),
            );
        const plain = (name, kind) => h('span', { role: 'columnheader', class: kind }, name);
        show(
            this.head,
            sortable('name', GROUPS[this.by].name, 'name'),
            sortable('value', app.measureName, 'num'),
            this.change ? sortable('change', 'Change', 'num') : null,
            plain('Share', 'pct'),
            this.blocks ? sortable('blocks', 'Blocks', 'num opt') : null,
            app.model.has.heap ? plain('Live over time', 'trend') : null,
        );
        this.view.classList.toggle('with-change', Boolean(this.change));
        this.view.classList.toggle('with-blocks', Boolean(this.blocks));
        this.view.classList.toggle('with-trend', app.model.has.heap);
    }

    makeRow() {
        const cell = (kind, ...children) => h('span', { class: kind, role: 'gridcell' }, children);
        const [name, more, bar, part, canvas] = [
            h('b'),
            h('span', { class: 'soft' }),
            h('i'),
            h('em'),
            h('canvas', { 'aria-hidden': 'true' }),
        ];
        const row = {
            name,
            more,
            bar,
            part,
            canvas,
            place: cell('name', name, more),
            value: cell('num'),
            change: cell('num change'),
            blocks: cell('num opt blocks'),
            id: -1,
            drawn: null,
        };
        row.element = h(
            'div',
            { class: 'tr', role: 'row', onclick: () => this.open(row.id) },
            row.place,
            row.value,
            row.change,
            cell('pct', bar, part),
            row.blocks,
            cell('trend spark', canvas),
        );
        return row;
    }

    fillRow(row, id, index) {
        const { app } = this;
        const item = this.rows[id];
        const part = share(this.value[id], app.figures.sum);
        row.id = id;
        put(row.name, item.name);
        put(row.more, item.more ? ` ${item.more}` : '');
        mark(row.place, 'title', item.path || item.name);
        put(row.value, app.format(this.value[id]));
        put(row.part, percent(part));
        extent(row.bar, part);
        if (this.blocks) put(row.blocks, count(this.blocks[id]));
        if (this.change) this.fillChange(row.change, this.change[id]);
        mark(row.element, 'aria-selected', index === this.active ? 'true' : null);
        row.element.id = `row-${index}`;
        if (row.drawn !== id) row.canvas.hidden = true;
    }
    fillChange(cell, change) {
        put(cell, change ? signed(this.app.unit, change) : '=');
        cell.className = `num change ${change > 0 ? 'bad' : change < 0 ? 'good' : ''}`;
    }

    /**
     * Sparklines do not depend on the window: they are drawn once for a row, when the pointer
     * rests.
     */
    drawSparks(ids) {
        const { model, sums, base } = this.app;
        if (!model.has.heap) return;
        const missing = ids.filter((id) => !this.curves.has(id));
        if (missing.length)
            seriesOf(sums, this.groups, missing, this.lives).forEach((s, i) =>
                this.curves.set(missing[i], s),
            );
        const waiting = this.list.rows.pool
            .slice(0, ids.length)
            .filter((row) => row.drawn !== row.id || row.canvas.hidden);
        const room = waiting.length ? roomOf(waiting[0].canvas.parentElement) : null;
        for (const row of waiting) {
            row.canvas.hidden = false;
            spark(row.canvas, room, this.curves.get(row.id), model.edges, model.end);
            row.drawn = row.id;
        }
        if (base && this.curves.size > 5000) this.curves.clear();
    }

    open(id) {
        if (this.rows[id]) this.app.openRow(this.rows[id]);
    }

    key(ev) {
        const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -1e9, End: 1e9 }[
            ev.key
        ];
        if (ev.target !== this.view || (!by && ev.key !== 'Enter')) return;
        ev.preventDefault();
        if (ev.key === 'Enter') return void this.open(this.order[this.active]);
        this.active = Math.max(0, Math.min(this.order.length - 1, this.active + by));
        this.list.reveal(this.active);
        this.list.paint();
        mark(this.view, 'aria-activedescendant', `row-${this.active}`);
    }

    csv() {
        const { app } = this;
        const head = [
            'name',
            'path',
            `${app.state.measure}_${app.unit}`,
            ...(this.blocks ? ['blocks'] : []),
            ...(this.change ? ['change'] : []),
        ];
        const lines = this.order.map((id) => [
            this.rows[id].name,
            this.rows[id].path,
            String(Math.round(this.value[id])),
            ...(this.blocks ? [whole(this.blocks[id]).replaceAll(',', '')] : []),
            ...(this.change ? [String(Math.round(this.change[id]))] : []),
        ]);
        return [head, ...lines].map((line) => line.map(cellOfCsv).join(',')).join('\n');
    }
}
