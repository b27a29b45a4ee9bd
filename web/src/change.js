// change - from the older run's total to the newer one's, line by line, so that it adds up.

import { extent, h, mark, put, show } from './dom.js';
import { percent, share, signed } from './format.js';
import { addUp, GROUPS, groupingsOf } from './groups.js';
import { Rows } from './rows.js';

const MOST = 40;

export class Change {
    constructor(host, app) {
        Object.assign(this, { app });
        this.pick = h(
            'select',
            { 'aria-label': 'rows are', onchange: () => app.set({ group: this.pick.value }) },
            groupingsOf(app.model).map((by) => h('option', { value: by }, GROUPS[by].name)),
        );
        this.hint = h('p', { class: 'hint' });
        this.body = h('div', { role: 'rowgroup' });
        const head = h(
            'div',
            { class: 'ch th', role: 'row' },
            [
                ['name', 'Where'],
                ['num', 'Before'],
                ['num', 'After'],
                ['num', 'Change'],
                ['swing', 'Shrank · grew'],
            ].map(([kind, name]) => h('span', { class: kind, role: 'columnheader' }, name)),
        );
        this.list = new Rows(
            this.body,
            () => this.makeRow(),
            (row, item) => this.fillRow(row, item),
        );
        show(
            host,
            h('div', { class: 'bar' }, h('label', {}, 'Rows: ', this.pick)),
            this.hint,
            h(
                'div',
                { class: 'leaks', role: 'table', 'aria-label': 'change by row' },
                head,
                this.body,
            ),
        );
    }

    update() {
        const { app } = this;
        const by = groupingsOf(app.model).includes(app.state.group) ? app.state.group : 'line';
        this.pick.value = by;
        const { base, figures } = app;
        const groups = base.groups(by);
        const after = addUp(groups, figures.values);
        const change = base.changeOfRows(groups, after, figures.baseValues);
        const order = Array.from(change.keys())
            .filter((r) => change[r])
            .sort((a, b) => Math.abs(change[b]) - Math.abs(change[a]));
        const rows = order
            .slice(0, MOST)
            .map((r) => ({ item: groups.rows[r], after: after[r], change: change[r] }));
        this.most = Math.max(1, ...rows.map((r) => Math.abs(r.change)));
        this.list.show([
            ...rows,
            ...this.remainder(order, after, change),
            this.together(after, change),
        ]);
        this.say();
    }

    /** What is too small for a row of its own, in one. */
    remainder(order, after, change) {
        const small = order.slice(MOST);
        if (!small.length) return [];
        const add = (values) => small.reduce((sum, r) => sum + values[r], 0);
        return [
            {
                item: { name: `(${small.length} smaller changes)`, more: '', path: '' },
                after: add(after),
                change: add(change),
                plain: true,
            },
        ];
    }
    together(after, change) {
        const all = (values) => values.reduce((a, b) => a + b, 0);
        return {
            item: { name: 'Together', more: '', path: '' },
            after: all(after),
            change: all(change),
            plain: true,
            total: true,
        };
    }

    say() {
        const { app } = this;
        const { from, to } = app.base.windowOf(app.state.from, app.state.to);
        const other = app.base.model;
        const pair = app.base.pairOf(app.state.from, app.state.to);
        const what =
            from === -1 && to === other.cells - 1
                ? 'the whole of both runs'
                : pair
                  ? `from ${pair[0].words} to ${pair[1].words} in both runs`
                  : `this window and ${percent(share(other.timeOf(from), other.end))} to ${percent(share(other.timeOf(to), other.end))} of the other run`;
        put(
            this.hint,
            `${app.measureName}, ${what}: where the change comes from. Rows add up to the change of the total.`,
        );
    }

    makeRow() {
        const cells = ['name', 'num', 'num', 'num', 'swing'].map((kind) =>
            h('span', { class: kind, role: 'cell' }),
        );
        const [place, before, after, change, swing] = cells;
        const [name, more, down, up] = [
            h('b'),
            h('span', { class: 'soft' }),
            h('i', { class: 'down' }),
            h('i', { class: 'up' }),
        ];
        place.append(name, more);
        swing.append(h('span', {}, down), h('span', {}, up));
        const row = { place, name, more, before, after, change, down, up, item: null };
        const open = () => row.item.path && this.app.openRow(row.item);
        row.element = h(
            'div',
            {
                class: 'ch',
                role: 'row',
                onclick: open,
                onkeydown: (ev) => ev.key === 'Enter' && open(),
            },
            cells,
        );
        return row;
    }

    fillRow(row, { item, after, change, total, plain }) {
        const { format, unit } = this.app;
        row.item = item;
        put(row.name, item.name);
        put(row.more, item.more ? ` ${item.more}` : '');
        mark(row.place, 'title', item.path || item.name);
        put(row.before, format(after - change));
        put(row.after, format(after));
        put(row.change, change ? signed(unit, change) : '=');
        row.change.className = `num ${change > 0 ? 'bad' : change < 0 ? 'good' : ''}`;
        row.element.classList.toggle('total', Boolean(total));
        mark(row.element, 'tabindex', plain ? null : 0);
        extent(row.down, change < 0 && !total ? -change / this.most : 0);
        extent(row.up, change > 0 && !total ? change / this.most : 0);
    }
}
