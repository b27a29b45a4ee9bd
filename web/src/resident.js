// resident - RSS explained: what the resident pages are, over time and at one moment, adding up.

import { h, put, show } from './dom.js';
import { bytes, percent, share, time } from './format.js';
import { axes, frameOf } from './chart.js';
import { colour, sized } from './paint.js';

const PARTS = [
    ['live', 'Live blocks', 'what the program holds by malloc and the like'],
    ['mapped', 'Mapped by the program', 'memory that it took from the kernel itself, at most'],
    [
        'slack',
        'Allocator slack',
        'heap and anonymous pages beyond these: freed but kept, fragmentation, arenas',
    ],
    ['resident_stack', 'Thread stacks', ''],
    ['resident_data', 'Program data', 'writable data of mapped files'],
    [
        'resident_file',
        'Mapped files',
        'code and files; shared with others, given back under pressure',
    ],
    ['resident_shared', 'Shared memory', ''],
    ['rest', 'Not told', 'resident by the total, but in no part that the kernel named'],
];
const OTHERS = ['resident_stack', 'resident_data', 'resident_file', 'resident_shared'];
const HEIGHT = 360;
const AROUND = 2; // edges before and after a moment

export const explains = (model) =>
    Boolean(model.seriesOf('run', 'resident_heap') ?? model.seriesOf('run', 'resident_anon'));

/** The value of a series at a time, when it was sampled then. */
function at(series, t) {
    if (!series) return null;
    const i = series.t.findIndex((x) => Math.abs(x - t) < 1e-4);
    return i < 0 ? null : series.v[i];
}

const WORDS = {
    chart: 'resident memory over time by part',
    held: 'resident',
    which: 'The highest sample inside the window that tells where the pages are.',
    note: 'Live blocks and mappings are counted as if all their pages were resident; what was never touched is then missing from the slack.',
};

/** Parts over time, one on the other: each is [key, name, what it is], and a point has a number for each key. */
export class Resident {
    get parts() {
        return PARTS;
    }
    get words() {
        return WORDS;
    }

    constructor(host, app) {
        this.app = app;
        this.points = this.read();
        this.canvas = h('canvas', {
            role: 'img',
            'aria-label': this.words.chart,
        });
        this.shade = h('i', { class: 'shade' });
        this.line = h('i', { class: 'moment' });
        this.over = h('div', { class: 'over' }, this.shade, this.line);
        this.chart = h(
            'div',
            { class: 'rss-chart' },
            h('div', { class: 'rss-inner' }, this.canvas, this.over),
        );
        this.title = h('h3', {});
        this.bar = h(
            'div',
            { class: 'rss-bar' },
            this.parts.map(([k]) => h('i', { class: `r-${k}` })),
        );
        this.items = this.parts.map(([k, name, tip]) =>
            h(
                'li',
                { class: `r-${k}` },
                h('b', {}, name),
                h('span', { class: 'num' }),
                h('span', { class: 'num' }),
                h('small', {}, tip),
            ),
        );
        this.sum = h(
            'li',
            { class: 'sum' },
            h('b', {}, 'Together'),
            h('span', { class: 'num' }),
            h('span', { class: 'num' }),
        );
        show(
            host,
            h(
                'div',
                { class: 'resid' },
                this.chart,
                h(
                    'div',
                    { class: 'rss-now' },
                    this.title,
                    h(
                        'p',
                        { class: 'soft' },
                        this.words.which,
                    ),
                    this.bar,
                    h('ul', {}, this.items, this.sum),
                    h(
                        'p',
                        { class: 'soft' },
                        this.words.note,
                    ),
                ),
            ),
        );
        new ResizeObserver(() => this.draw()).observe(this.chart);
    }

    forget() {
        this.draw();
    }

    /** Each sample of where the pages are, as parts that add up. */
    read() {
        const { model } = this.app;
        const of = (name) => model.seriesOf('run', name);
        const [heap, anon, rss] = [of('resident_heap'), of('resident_anon'), of('rss')];
        const times = (heap ?? anon)?.t ?? [];
        return Array.from(times, (t) => {
            const pool = (at(heap, t) ?? 0) + (at(anon, t) ?? 0);
            const all = this.liveAt(t); // what the program maps itself is a part of it
            const mapped = Math.min(this.mappedAt(t, all), all, pool);
            const live = Math.min(all - mapped, pool - mapped);
            const point = { t, live, mapped, slack: pool - live - mapped };
            for (const name of OTHERS) point[name] = at(of(name), t) ?? 0;
            const named = pool + OTHERS.reduce((sum, name) => sum + point[name], 0);
            point.rest = Math.max(0, (at(rss, t) ?? named) - named);
            point.sum = named + point.rest;
            return point;
        });
    }

    /** The live heap's least about a time: temporaries in flight are no part of an explanation. */
    liveAt(t) {
        const { lo } = this.app.model.fine;
        const { end } = this.app.model;
        return (
            lo[Math.max(0, Math.min(lo.length - 1, Math.floor((t / (end || 1)) * lo.length)))] ?? 0
        );
    }
    /** Mappings are known at edges: of those about a time, at the one where the heap was most like then. */
    mappedAt(t, heap) {
        const { model, sums } = this.app;
        if (!model.has.maps) return 0;
        const { maps, live } = (this.levels ??= sums.unfiltered(() => ({
            maps: sums.levels(model.maps),
            live: sums.levels(model.heap),
        })));
        const after = model.edges.findIndex((edge) => edge >= t);
        const last = after < 0 ? live.length - 1 : after;
        let best = last;
        for (let k = Math.max(0, last - AROUND); k <= Math.min(live.length - 1, last + AROUND); k++)
            if (Math.abs(live[k] - heap) < Math.abs(live[best] - heap)) best = k;
        return maps[best] ?? 0;
    }

    update() {
        const { from, to } = this.app.window;
        const inside = this.points.filter((p) => p.t >= from && p.t <= to);
        const point = (inside.length ? inside : this.points).reduce((a, b) =>
            b.sum > a.sum ? b : a,
        );
        this.point = point;
        put(this.title, `${bytes(point.sum)} ${this.words.held} at ${time(point.t)}`);
        this.parts.forEach(([k], i) => {
            const [, value, part] = this.items[i].children;
            this.items[i].hidden = !this.points.some((p) => p[k] > 0);
            this.bar.children[i].style.flexGrow = String(point[k]);
            put(value, bytes(point[k]));
            put(part, percent(share(point[k], point.sum)));
        });
        put(this.sum.children[1], bytes(point.sum));
        put(this.sum.children[2], '100 %');
        if (!this.frame) this.draw();
        this.place();
    }

    draw() {
        const width = this.chart.firstChild.clientWidth;
        if (!width) return;
        let top = 0;
        for (const p of this.points) top = Math.max(top, p.sum);
        const f = (this.frame = frameOf(width, HEIGHT, 62, [0, this.app.model.end], top * 1.05));
        const c = sized(this.canvas, width, HEIGHT);
        axes(c, f, width);
        let below = this.points.map(() => 0);
        for (const [k] of this.parts) {
            this.ribbon(c, f, below, k);
            below = below.map((v, i) => v + this.points[i][k]);
        }
        for (const [key, v] of Object.entries({
            left: f.left,
            top: f.top,
            width: f.width,
            height: f.height,
        }))
            this.over.style[key] = `${v}px`;
        if (this.point) this.place();
    }

    /** Steps between samples: each holds until the next. */
    ribbon(c, f, below, k) {
        const { points } = this;
        const ends = points.map((p, i) => f.x(points[i + 1]?.t ?? f.end));
        c.beginPath();
        points.forEach((p, i) => {
            c.lineTo(f.x(p.t), f.y(below[i] + p[k]));
            c.lineTo(ends[i], f.y(below[i] + p[k]));
        });
        for (let i = points.length - 1; i >= 0; i--) {
            c.lineTo(ends[i], f.y(below[i]));
            c.lineTo(f.x(points[i].t), f.y(below[i]));
        }
        c.fillStyle = colour(`--r-${k}`);
        c.fill();
    }

    place() {
        const part = (t) => `${(t / (this.app.model.end || 1)) * 100}%`;
        const { from, to } = this.app.window;
        this.shade.hidden = this.app.isWhole();
        this.shade.style.left = part(from);
        this.shade.style.width = part(to - from);
        this.line.style.left = part(this.point.t);
    }
}
