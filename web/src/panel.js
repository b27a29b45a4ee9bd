// panel - beside the flame, always in the same place and of the same size: the frame that is
// pointed at, else the largest lines.

import { copy, extent, h, put, show } from './dom.js';
import { percent, share, short, signed } from './format.js';
import { addUp, groupsOf, heaviest } from './groups.js';
import { roomOf, spark } from './paint.js';
import { Rows } from './rows.js';

const LARGEST = 8;
const FRAMES = 7;
const LEGEND = [
    ['python', 'the program’s Python'],
    ['library', 'Python of libraries'],
    ['native', 'native code'],
    ['interpreter', 'interpreter'],
    ['kernel', 'kernel'],
    ['smaller', 'smaller stacks, folded'],
];

function legend(app) {
    const entries = app.base
        ? [
              ['grew', 'grew'],
              ['shrank', 'shrank'],
              ['interpreter', 'same'],
          ]
        : LEGEND.filter(([kind]) => app.model.frames.count && app.kinds.has(kind));
    return h(
        'ul',
        { class: 'legend' },
        entries.map(([kind, name]) => h('li', { class: `f-${kind}` }, name)),
    );
}

export class Panel {
    constructor(app) {
        this.app = app;
        app.kinds ??= new Set(
            Array.from(
                new Set(app.model.frames.kind),
                (k) =>
                    ['python', 'native', 'interpreter', 'kernel', 'smaller', 'unknown', 'library'][
                        k
                    ],
            ),
        );
        this.title = h('h3', {});
        this.list = h('ol', { class: 'top' });
        this.rows = new Rows(
            this.list,
            () => this.makeRow(),
            (row, item) => this.fillRow(row, item),
        );
        this.idle = h(
            'div',
            {},
            this.title,
            this.list,
            h(
                'p',
                { class: 'soft small' },
                'Point at a frame for its numbers; click to zoom in, again to zoom out.',
            ),
            legend(app),
        );
        this.detail = h('div', { hidden: true });
        this.element = h(
            'aside',
            { class: 'panel', 'aria-label': 'details' },
            this.idle,
            this.detail,
        );
        this.curves = new Map();
    }

    forget() {
        this.curves.clear();
    }

    makeRow() {
        const [bar, name, value] = [h('i'), h('b'), h('em')];
        const row = { bar, name, value, item: null };
        row.button = h('button', { onclick: () => this.app.openRow(row.item) }, bar, name, value);
        row.element = h('li', {}, row.button);
        return row;
    }
    fillRow(row, { item, value, part }) {
        row.item = item;
        put(row.name, item.name);
        put(row.value, this.app.format(value));
        extent(row.bar, part);
        row.button.title = [item.path, item.more].filter(Boolean).join('\n');
    }

    show(box, moving) {
        this.idle.hidden = Boolean(box);
        this.detail.hidden = !box;
        if (!box) this.showLargest();
        else if (!moving) this.showBox(box);
    }

    /** Who, while nothing is pointed at. */
    showLargest() {
        const { app } = this;
        const { model, figures, state } = app;
        const groups = groupsOf(model, 'line');
        const within = model.after[state.zoom];
        let { values } = figures;
        if (state.zoom)
            values = values.map((v, l) =>
                model.leaves.node[l] >= state.zoom && model.leaves.node[l] < within ? v : 0,
            );
        const sums = addUp(groups, values);
        const top = heaviest(sums, LARGEST);
        put(this.title, `${app.measureName}: the largest`);
        this.rows.show(
            top.map((r) => ({
                item: groups.rows[r],
                value: sums[r],
                part: share(sums[r], sums[top[0]]),
            })),
        );
    }

    showBox(box) {
        const { app } = this;
        const { model } = app;
        const curve =
            app.model.has.heap && !box.ends ? h('canvas', { 'aria-hidden': 'true' }) : null;
        show(
            this.detail,
            this.head(box),
            curve && h('div', { class: 'curve spark' }, curve),
            curve && h('p', { class: 'soft small' }, 'live bytes over the whole run'),
            this.stack(box),
            this.actions(box),
        );
        if (curve)
            spark(
                curve,
                roomOf(curve.parentElement),
                this.curveOf(box.node),
                model.edges,
                model.end,
            );
    }

    head({ node, frame, value, own, ends, chain }) {
        const { app } = this;
        const { model, format, figures } = app;
        const module = short(model.moduleOf(frame));
        const change = app.base && !ends ? figures.change[node] : 0;
        return [
            h('h3', {}, model.functionOf(frame)),
            h(
                'p',
                { class: 'where' },
                model.place(frame),
                module && model.fileOf(frame) ? h('span', { class: 'soft' }, ` ${module}`) : '',
            ),
            h(
                'p',
                { class: 'big' },
                format(value),
                h(
                    'span',
                    {},
                    `${percent(share(value, figures.sum))} of ${app.measureName.toLowerCase()}`,
                ),
            ),
            change
                ? h(
                      'p',
                      { class: change > 0 ? 'bad' : 'good' },
                      `${signed(app.unit, change)} against the other run`,
                  )
                : null,
            ends || chain
                ? null
                : h(
                      'p',
                      { class: 'soft' },
                      own > 0
                          ? `itself ${format(own)} (${percent(share(own, value))} of it)`
                          : 'all of it in what it calls',
                  ),
        ];
    }

    curveOf(node) {
        const { model, sums, state } = this.app;
        const lives = state.measure === 'mapped' ? 'mapped' : 'heap';
        if (lives !== this.lives) this.curves.clear();
        this.lives = lives;
        if (!this.curves.has(node)) {
            const inside = (n) => n >= node && n < model.after[node];
            if (this.curves.size > 300) this.curves.clear();
            this.curves.set(
                node,
                sums.series(
                    Int32Array.from(model.leaves.node, (n) => (inside(n) ? 0 : -1)),
                    1,
                    lives,
                )[0],
            );
        }
        return this.curves.get(node);
    }

    stack({ node, ends }) {
        const { model } = this.app;
        const frames = [...model.stack(node)];
        const rows = frames
            .slice(0, FRAMES)
            .map((f) =>
                h(
                    'li',
                    {},
                    model.functionOf(f),
                    h('span', { class: 'soft' }, ` ${model.place(f)}`),
                ),
            );
        return [
            ends?.length > 1
                ? h('p', { class: 'soft small' }, `the first of ${ends.length} stacks:`)
                : null,
            h(
                'ol',
                { class: 'stack' },
                rows,
                frames.length > FRAMES
                    ? h('li', { class: 'soft' }, `… ${frames.length - FRAMES} more`)
                    : null,
            ),
        ];
    }

    actions({ node, frame }) {
        const { app } = this;
        const { model } = app;
        const text = () =>
            [...model.stack(node)]
                .map((f) => `${model.functionOf(f)} (${model.place(f)})`)
                .join('\n');
        const words = model.functionOf(frame).replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
        return h(
            'div',
            { class: 'acts' },
            h('button', { onclick: (ev) => copy(text(), ev.currentTarget) }, 'Copy stack'),
            h('button', { onclick: () => app.set({ q: words }) }, 'Search'),
            model.source.has(model.fileOf(frame))
                ? h(
                      'button',
                      {
                          onclick: () =>
                              app.openSource(model.fileOf(frame), model.frames.line[frame]),
                      },
                      'Source',
                  )
                : null,
        );
    }
}
