// timeline - memory over time, and the window on it that everything follows.

import { byId, h, mark, narrow, put, show } from './dom.js';
import { bytes, moment, time } from './format.js';
import { sized } from './paint.js';
import * as chart from './chart.js';

const HEIGHT = 168;
const FLAG = 120; // room for what the flag at the peak says
const ABOVE = 20; // room above the peak, which no line crosses: else it is said beside it

/** The last value of a series at or before a time. */
function valueAt(series, t) {
    if (!series?.t.length || t < series.t[0]) return null;
    let lo = 0;
    let hi = series.t.length - 1;
    while (lo < hi) {
        const middle = (lo + hi + 1) >> 1;
        if (series.t[middle] <= t) lo = middle;
        else hi = middle - 1;
    }
    return series.v[lo];
}

export class Timeline {
    /** @param {import('./app.js').App} app */
    constructor(host, readout, app) {
        Object.assign(this, { host, readout, app, dragging: false });
        const { model } = app;
        this.rss = model.ofHost ? model.seriesOf('run', 'rss') : undefined;
        this.cpuUsed = model.has.cpu ? undefined : model.seriesOf('run', 'cpu');
        this.pss = model.ofHost ? model.seriesOf('run', 'pss') : undefined;
        this.io = ['read_chars', 'write_chars']
            .map((n) => model.seriesOf('run', n))
            .filter(Boolean);
        this.others = model.stripsOfMemory();
        this.build();
        this.listen();
        this.sizes = new ResizeObserver(() => this.width !== host.clientWidth && this.draw());
        this.sizes.observe(host);
    }

    /** Another one takes its place. */
    close() {
        this.sizes.disconnect();
    }

    build() {
        const handle = (side, name) =>
            h('i', {
                class: `handle ${side}`,
                role: 'slider',
                tabindex: '0',
                'aria-label': name,
                onkeydown: (ev) => this.key(ev, side),
            });
        this.canvas = h('canvas', {
            role: 'img',
            'aria-label':
                'memory over time; the window is moved with the two sliders, or with the arrow keys',
        });
        this.left = handle('left', 'start of the window');
        this.right = handle('right', 'end of the window');
        this.brush = h('div', { class: 'brush' }, this.left, this.right);
        this.flag = h('span', { class: 'flag', 'aria-hidden': 'true' });
        this.cursor = h('i', { class: 'cursor', hidden: true });
        this.over = h('div', { class: 'over' }, this.brush, this.cursor, this.flag);
        const strip = (name) => h('canvas', { class: 'strip', role: 'img', 'aria-label': name });
        this.cpu = this.app.model.has.cpu || this.cpuUsed
            ? strip('CPU use over time: Python, native code, kernel')
            : null;
        this.ioStrip = this.io.length ? strip('bytes read and written over time') : null;
        this.otherStrips = this.others.map((s) =>
            strip(`memory of ${s.label} over time, at most ${bytes(Math.max(0, ...s.v))}`),
        );
        show(this.host, this.canvas, this.over, this.cpu, this.ioStrip, this.otherStrips);
    }

    /** Everything that does not depend on the window. */
    draw() {
        const { app } = this;
        const { model, sums, base } = app;
        this.width = this.host.clientWidth;
        if (!this.width) return;
        const [start, end] = (this.extent = app.extent);
        const levels = app.isCloser ? [] : sums.liveAt;
        const f = (this.frame = chart.frameOf(
            this.width,
            HEIGHT,
            narrow() ? 54 : 66,
            this.extent,
            chart.highest(
                chart.between(this.rss, start, end),
                model.fine.hi,
                levels,
                base?.model.fine.hi,
            ),
        ));
        const c = sized(this.canvas, this.width, HEIGHT);
        chart.axes(c, f, this.width);
        chart.within(c, f, () => {
            const stacked = app.state.stack && chart.stackOfProcesses(c, f, model);
            if (!stacked) this.drawMemory(c, f);
            this.showKeys(stacked || []);
            chart.regions(c, f, model);
            chart.marks(c, f, model);
        });
        if (this.cpuUsed) chart.usedStrip(this.cpu, this.width, f, this.cpuUsed);
        else if (this.cpu) chart.cpuStrip(this.cpu, this.width, f, model, sums);
        if (this.ioStrip) chart.ioStrip(this.ioStrip, this.width, f, this.io);
        this.others.forEach((s, i) => chart.memoryStrip(this.otherStrips[i], this.width, f, s));
        for (const [k, v] of Object.entries({
            left: f.left,
            top: 0,
            width: f.width,
            height: f.top + f.height,
        }))
            this.over.style[k] = `${v}px`;
        this.update();
    }

    /** Whose colour is whose, where processes are stacked. */
    showKeys(list) {
        const key = ({ name, colour }) => h('span', { class: 'key', style: { '--c': colour } }, name);
        show(byId('process-keys'), list.map(key));
    }

    drawMemory(c, f) {
        const { model, sums, base } = this.app;
        if (this.rss) chart.area(c, f, this.rss.t, this.rss.v, '--rss', '--rss-fill');
        if (this.pss) chart.area(c, f, this.pss.t, this.pss.v, '--native', null, [6, 3]);
        if (model.has.heap) chart.heap(c, f, model, sums);
        if (model.has.maps)
            chart.area(c, f, model.edges, sums.mappedAt, '--r-mapped', null, [4, 3]);
        if (base) chart.area(c, f, base.edgesHere, base.sums.liveAt, '--ink', null, [2, 3]);
    }

    /** The window, and the peak inside it. */
    update() {
        const { app } = this;
        if (!this.frame) return;
        if (app.extent.some((t, i) => t !== this.extent[i])) {
            this.draw(); // the window left what is shown closer, or came into it
            return;
        }
        const { model, totals, state } = app;
        const { start, span } = this.frame;
        const part = (t) => Math.min(100, Math.max(0, ((t - start) / span) * 100));
        const [a, b] = [model.timeOf(state.from), model.timeOf(state.to)];
        this.brush.style.left = `${part(a)}%`;
        this.brush.style.width = `${Math.max(part(b) - part(a), 0.15)}%`;
        this.brush.classList.toggle('whole', app.isWhole());
        this.tellSlider(this.left, a);
        this.tellSlider(this.right, b);
        this.placeFlag(totals, part);
    }

    tellSlider(handle, t) {
        mark(handle, 'aria-valuemin', 0);
        mark(handle, 'aria-valuemax', this.app.model.end.toFixed(3));
        mark(handle, 'aria-valuenow', t.toFixed(3));
        mark(handle, 'aria-valuetext', time(t));
    }

    placeFlag(totals, part) {
        this.flag.hidden = !this.app.model.has.heap || !totals || this.app.state.stack;
        if (this.flag.hidden) return;
        const at = part(totals.peakTime);
        this.flag.style.left = `${at}%`;
        const y = this.frame.y(totals.peak);
        this.flag.style.top = `${y}px`;
        this.flag.classList.toggle('above', y - this.frame.top > ABOVE);
        this.flag.classList.toggle(
            'before',
            (at / 100) * this.frame.width > this.frame.width - FLAG,
        );
        put(this.flag, `peak ${bytes(totals.peak)}`);
    }

    timeAt(ev) {
        const box = this.over.getBoundingClientRect();
        const part = Math.min(1, Math.max(0, (ev.clientX - box.left) / (box.width || 1)));
        return this.frame.start + part * this.frame.span;
    }

    listen() {
        this.over.onpointerdown = (ev) => ev.button === 0 && this.grab(ev);
        this.over.onpointermove = (ev) => (this.drag ? this.pull(ev) : this.point(ev));
        this.over.onpointerup = this.over.onpointercancel = (ev) => this.release(ev);
        this.over.onpointerleave = () => this.unpoint();
        this.over.ondblclick = () => this.app.setWindow(-1, this.app.model.cells - 1);
    }

    grab(ev) {
        const { state } = this.app;
        this.over.setPointerCapture(ev.pointerId);
        const side = ev.target === this.left ? 'left' : ev.target === this.right ? 'right' : null;
        const what = side ?? (ev.target === this.brush && !this.app.isWhole() ? 'move' : 'new');
        this.drag = {
            what,
            at: this.timeAt(ev),
            y: ev.offsetY,
            from: state.from,
            to: state.to,
            moved: false,
        };
        this.dragging = true;
    }

    pull(ev) {
        const { model } = this.app;
        const { what, at, from, to } = this.drag;
        const t = this.timeAt(ev);
        if (!this.drag.moved && Math.abs(t - at) < this.frame.span * 0.004) return;
        this.drag.moved = true;
        const near = (x) => model.quietAt(x);
        const ends = {
            new: () => [near(Math.min(t, at)), near(Math.max(t, at))],
            left: () => [near(t), to],
            right: () => [from, near(t)],
            move: () => [near(model.timeOf(from) + t - at), near(model.timeOf(to) + t - at)],
        }[what]();
        this.app.setWindow(Math.min(...ends), Math.max(...ends));
    }

    /** The end of a drag; without one, a click on a region's name takes the region. */
    release(ev) {
        const drag = this.drag;
        this.drag = null;
        this.dragging = false;
        if (
            drag &&
            !drag.moved &&
            ev.type === 'pointerup' &&
            drag.y < chart.BAND &&
            drag.what !== 'left' &&
            drag.what !== 'right'
        )
            this.takeRegion(drag.at);
        this.app.rest();
    }

    takeRegion(t) {
        const region = chart
            .bands(this.app.model)
            .find((r) => r.start / 1e6 <= t && (r.end ?? Infinity) / 1e6 >= t);
        if (region)
            this.app.setTimes(
                region.start / 1e6,
                (region.end ?? this.app.model.meta.duration) / 1e6,
            );
    }

    key(ev, side) {
        const { model, state } = this.app;
        const by = {
            ArrowLeft: -1,
            ArrowDown: -1,
            ArrowRight: 1,
            ArrowUp: 1,
            PageUp: 10,
            PageDown: -10,
            Home: -1e9,
            End: 1e9,
        }[ev.key];
        if (!by) return;
        ev.preventDefault();
        ev.stopPropagation();
        if (side === 'left')
            this.app.setWindow(
                Math.min(model.quietAfter(state.from, by), model.quietAfter(state.to, -1)),
                state.to,
            );
        else
            this.app.setWindow(
                state.from,
                Math.max(model.quietAfter(state.to, by), model.quietAfter(state.from, 1)),
            );
    }

    /** Values below the pointer. */
    point(ev) {
        const { model } = this.app;
        const t = this.timeAt(ev);
        const [start, end] = model.stretch;
        const bin = Math.floor(((t - start) / (end - start || 1)) * model.fine.hi.length);
        const level = model.fine.hi[t === end ? model.fine.hi.length - 1 : bin];
        const words = [this.app.isCloser ? moment(t, this.frame.span) : time(t)];
        if (this.rss) words.push(`RSS ${bytes(valueAt(this.rss, t))}`);
        for (const s of this.others) words.push(`${s.label} ${bytes(valueAt(s, t))}`);
        if (level !== undefined) words.push(`heap ${bytes(level)}`);
        this.cursor.hidden = false;
        this.cursor.style.left = `${((t - this.frame.start) / this.frame.span) * 100}%`;
        put(this.readout, words.join(' · '));
    }

    unpoint() {
        this.cursor.hidden = true;
        put(this.readout, '');
    }
}
