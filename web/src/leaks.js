// leaks - what was allocated in the window and not freed, by line: does it grow, how fast, since
// when.

import { h, mark, put, show } from './dom.js';
import { bytes, percent, share, time } from './format.js';
import { addUp, groupsOf, heaviest, seriesOf } from './groups.js';
import { roomOf, spark } from './paint.js';
import { Rows } from './rows.js';
import { judge, middleOf } from './trend.js';

const MOST = 60;
const RANK = { growing: 0, unclear: 1, 'grew once': 2, steady: 3 };
const WORDS = {
    growing: 'grows to the end',
    unclear: 'grew, perhaps by chance',
    'grew once': 'grew once, then kept',
    steady: 'steady',
};
const GROWS = new Set(['growing', 'unclear']); // verdicts that have a pace
const COLUMNS = [
    ['v', 'Verdict'],
    ['name', 'Line'],
    ['num', 'Kept'],
    ['num', 'Growth'],
    ['num opt', 'Freed again'],
    ['num opt', 'Median age'],
    ['trend', 'Live over time'],
];

/** When the last interpreter began to free what its program had kept, in seconds; or nothing. */
const workedOf = ({ meta }) =>
    meta.marks
        .filter(({ sort }) => sort === 'worked')
        .reduce((last, { time: at }) => Math.max(last, at / 1e6), 0);

export class Leaks {
    constructor(host, app) {
        this.app = app;
        this.hint = h('span', {});
        this.worked = workedOf(app.model);
        this.before = h(
            'button',
            { onclick: () => app.setTimes(app.window.from, this.worked) },
            'Until the work ended',
        );
        this.basis = h('p', { class: 'hint soft' });
        this.body = h('div', { role: 'rowgroup' });
        const head = h(
            'div',
            { class: 'lk th', role: 'row' },
            COLUMNS.map(([kind, name]) => h('span', { class: kind, role: 'columnheader' }, name)),
        );
        this.list = new Rows(
            this.body,
            () => this.makeRow(),
            (row, item) => this.fillRow(row, item),
        );
        show(
            host,
            h('p', { class: 'hint' }, this.hint, ' ', this.before),
            h(
                'div',
                { class: 'leaks', role: 'table', 'aria-label': 'what was kept' },
                head,
                this.body,
            ),
            this.basis,
        );
    }

    forget() {
        for (const row of this.list.pool) row.drawn = null;
    }

    update(moving) {
        const { app } = this;
        const { from, to } = app.window;
        put(
            this.hint,
            `Allocated between ${time(from)} and ${time(to)} and not freed by then: ${bytes(app.totals.kept)}. ` +
                'Put the window after the warm-up and before the end of the work, to see what still grows.',
        );
        this.before.hidden = !(this.worked > from && this.worked < to);
        if (moving) return; // to judge takes longer than a frame
        const whole =
            app.isWhole() && !app.sums.partial && !app.base && app.model.meta.verdicts.length > 0;
        this.shown = this.rows(whole ? this.verdicts() : null);
        this.list.show(this.shown);
        put(
            this.basis,
            whole
                ? 'Verdicts of the whole run are those of the leaks report.'
                : 'Judged at the quiet moments of this window: growing = it rises between most pairs of moments, and new blocks keep coming.',
        );
        this.drawSparks();
    }

    verdicts() {
        return new Map(this.app.model.meta.verdicts.map((v) => [v.line, v]));
    }

    rows(given) {
        const {
            model,
            sums,
            figures,
            state: { from, to },
        } = this.app;
        const groups = groupsOf(model, 'line');
        const kept = addUp(groups, figures.of('kept'));
        const allocated = addUp(groups, figures.of('allocated'));
        const pick = heaviest(kept, MOST);
        const place = new Int32Array(groups.rows.length).fill(-1);
        pick.forEach((row, i) => (place[row] = i));
        const births = sums.keptByBirth(
            Int32Array.from(groups.group, (g) => place[g]),
            pick.length,
            from,
            to,
        );
        const rows = seriesOf(sums, groups, pick).map((series, i) => {
            const item = groups.rows[pick[i]];
            const told = given?.get(item.lineId);
            const own = judge(series, births[i], model, from, to);
            return {
                item,
                series,
                id: pick[i],
                kept: kept[pick[i]],
                freed: 1 - share(kept[pick[i]], allocated[pick[i]]),
                age: model.timeOf(to) - model.timeOf(middleOf(births[i], from, to)),
                verdict: told?.verdict ?? own.verdict,
                slope: told ? told.per_second : own.slope,
                confidence: told?.confidence ?? '',
            };
        });
        return rows.sort(
            (a, b) => (RANK[a.verdict] ?? 9) - (RANK[b.verdict] ?? 9) || b.kept - a.kept,
        );
    }

    makeRow() {
        const cells = COLUMNS.map(([kind]) => h('span', { class: kind, role: 'cell' }));
        const [verdict, place, kept, growth, freed, age, trend] = cells;
        const [name, more, canvas] = [
            h('b'),
            h('span', { class: 'soft' }),
            h('canvas', { 'aria-hidden': 'true' }),
        ];
        place.append(name, more);
        trend.classList.add('spark');
        trend.append(canvas);
        const row = {
            verdict,
            place,
            name,
            more,
            kept,
            growth,
            freed,
            age,
            canvas,
            item: null,
            drawn: null,
        };
        const open = () => this.app.openRow(row.item);
        row.element = h(
            'div',
            {
                class: 'lk',
                role: 'row',
                tabindex: '0',
                onclick: open,
                onkeydown: (ev) => ev.key === 'Enter' && open(),
            },
            cells,
        );
        return row;
    }

    fillRow(row, { item, kept, freed, age, verdict, slope, confidence }) {
        row.item = item;
        row.verdict.className = `v ${verdict.replace(/\W+/g, '-')}`;
        put(row.verdict, WORDS[verdict] ?? verdict);
        mark(
            row.verdict,
            'title',
            confidence === '' || confidence == null
                ? null
                : `confidence: ${typeof confidence === 'number' ? percent(confidence) : confidence}`,
        );
        put(row.name, item.name);
        put(row.more, item.more ? ` ${item.more}` : '');
        mark(row.place, 'title', item.path || item.name);
        put(row.kept, bytes(kept));
        put(row.growth, GROWS.has(verdict) && slope >= 1 ? `${bytes(slope)}/s` : '–');
        put(row.freed, percent(freed));
        put(row.age, time(age));
    }

    drawSparks() {
        const { model } = this.app;
        const room = this.shown.length ? roomOf(this.list.pool[0].canvas.parentElement) : null;
        this.shown.forEach(({ id, series }, i) => {
            const row = this.list.pool[i];
            if (row.drawn === id) return;
            spark(row.canvas, room, series, model.edges, model.end);
            row.drawn = id;
        });
    }
}
