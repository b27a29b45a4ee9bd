// tensors - deep learning: what tensors are for over time, adding up to the live heap, and what the questions about them
// say: operators, steps, what would lower the peak, what is held in vain.

import { h, put, show } from './dom.js';
import { bytes, signed, time, whole } from './format.js';
import { Resident } from './resident.js';

const WORDS = {
    chart: 'live heap over time by what tensors are for',
    held: 'live',
    which: 'The highest of the known moments inside the window.',
    note: 'Kinds are told by the phase in which a tensor is born and how long it lives, or by the program itself; they add up to the live heap. Framework: what importing it takes, and its other memory.',
};

const TITLES = {
    ops: 'Operators: who allocates tensors',
    calls: 'Operators from beginning to end',
    loops: 'Loops',
    growth: 'What grows from step to step',
    steps: 'Steps',
    ideas: 'What if: one idea at a time',
    together: 'What if: one after the other',
    inefficient: 'Held in vain',
};

const UNITS = {
    bytes,
    change: (v) => signed('bytes', v),
    ns: (v) => time(v / 1e9),
    count: whole,
    id: String,
    real: (v) => String(Number(v.toPrecision(3))),
    percent: (v) => `${v.toFixed(1)} %`,
    text: String,
};

export const hasTensors = (model) => Boolean(model.meta.tensors);

const keyOf = (kind) => kind.replaceAll(' ', '-');

/** Which processes a choice of the filter is of. */
function chosen({ model, state }) {
    const { processes, threads } = model.meta;
    const index = Number(state.only.slice(1));
    if (state.only[0] === 'p') return (p) => p === index;
    if (state.only[0] === 't') return (p) => p === threads[index]?.process;
    if (state.only[0] === 'r') return (p) => processes[p]?.rank === index;
    return () => true;
}

const LONG = 40; // letters: such a text takes several lines

const isText = ([, unit]) => unit === 'text';

/** What it is, its numbers, and then what says more: a wide table shows its numbers without scrolling. */
function orderOf(columns) {
    const all = columns.map((_, i) => i);
    const first = all.find((i) => isText(columns[i])) ?? 0;
    const rest = all.filter((i) => i !== first);
    return [first, ...rest.filter((i) => !isText(columns[i])), ...rest.filter((i) => isText(columns[i]))];
}

/** 'step (/home/me/net/train.py:17)' without its folders. */
const withoutFolders = (text) => text.replace(/\((?:\/[^/()]*)*\/([^/()]+:\d+)\)/, '($1)');

function cell(value, column) {
    if (value == null) return h('td', { class: isText(column) ? '' : 'num' }, '–');
    const said = UNITS[column[1]](value);
    return isText(column)
        ? h('td', { title: said, class: said.length > LONG ? 'long' : '' }, withoutFolders(said))
        : h('td', { class: 'num' }, said);
}

function tableOf({ name, columns, rows, note }) {
    const order = orderOf(columns);
    return h(
        'details',
        { open: rows.length > 0, 'data-table': name },
        h('summary', {}, TITLES[name] ?? name.replaceAll('_', ' ')),
        rows.length
            ? h(
                  'div',
                  { class: 'wide', tabindex: '0' },
                  h(
                      'table',
                      {},
                      h(
                          'thead',
                          {},
                          h(
                              'tr',
                              {},
                              order.map((i) =>
                                  h(
                                      'th',
                                      { class: isText(columns[i]) ? '' : 'num' },
                                      columns[i][0].replaceAll('_', ' '),
                                  ),
                              ),
                          ),
                      ),
                      h(
                          'tbody',
                          {},
                          rows.map((row) =>
                              h(
                                  'tr',
                                  {},
                                  order.map((i) => cell(row[i], columns[i])),
                              ),
                          ),
                      ),
                  ),
              )
            : null,
        note ? h('p', { class: 'soft' }, note) : null,
    );
}

export class Tensors extends Resident {
    get parts() {
        return this.app.model.meta.tensors.kinds.map((kind) => [keyOf(kind), kind, '']);
    }
    get words() {
        return WORDS;
    }

    constructor(host, app) {
        super(host, app);
        this.parts.forEach(([key], i) => {
            for (const element of [this.items[i], this.bar.children[i]])
                element.style.setProperty('--c', `var(--r-${key})`);
        });
        this.scope = h('p', { class: 'soft', hidden: true });
        const section = h('div', { class: 'tensor-tables' }, this.scope);
        for (const table of app.model.meta.tensors.tables)
            if (table.name in TITLES) section.append(tableOf(table));
        host.append(section);
    }

    /** The filter or the theme is another. */
    forget() {
        this.points = this.read();
        super.forget();
    }

    read() {
        const { t, kinds, of } = this.app.model.meta.tensors;
        const fits = chosen(this.app);
        const shown = of.filter(({ process }) => fits(process));
        let now = 0;
        return t.map((delta, m) => {
            now += delta;
            const point = { t: now / 1e6, sum: 0 };
            kinds.forEach((kind, k) => {
                const sum = shown.reduce((all, { v }) => all + v[k][m], 0);
                point[keyOf(kind)] = sum;
                point.sum += sum;
            });
            return point;
        });
    }

    update() {
        super.update();
        const { only } = this.app.state;
        this.scope.hidden = !only;
        put(this.scope, only ? 'The tables are of all processes.' : '');
    }
}
