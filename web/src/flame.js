// flame - stacks as an icicle on one canvas: Python and native frames in the order of the calls.

import { h, mark, put, show } from './dom.js';
import { percent, share } from './format.js';
import { ancestors, boxAt, downwards, inverted, rowsOf } from './layout.js';
import { KINDS } from './model.js';
import { colour, sized } from './paint.js';
import { Panel } from './panel.js';

const ROW = 19;
const LETTER = 6.1; // pixels, on average
const COLOURS = { kind: 'Colour by kind', module: 'by module', size: 'by size' };

/** A hue that a name always has. */
function hueOf(text) {
    let n = 7;
    for (let i = 0; i < text.length; i++) n = (n * 31 + text.charCodeAt(i)) >>> 0;
    return n % 360;
}

export class Flame {
    constructor(host, app) {
        Object.assign(this, { app, rows: [], boxes: [], selected: null, hues: new Map() });
        this.canvas = h('canvas', {
            tabindex: '0',
            role: 'application',
            'aria-label':
                'flame graph: arrow keys walk, Enter zooms, Escape goes back; the table has the same numbers',
        });
        this.ring = h('i', { class: 'ring', hidden: true });
        this.scroll = h('div', { class: 'flame-scroll' }, this.canvas, this.ring);
        this.crumbs = h('nav', { class: 'crumbs', 'aria-label': 'path' });
        this.panel = new Panel(app);
        show(
            host,
            h('div', { class: 'flame-top' }, this.crumbs, this.tools()),
            h('div', { class: 'flame-row' }, this.scroll, this.panel.element),
        );
        this.listen();
    }

    tools() {
        const { app } = this;
        this.colours = h(
            'select',
            { 'aria-label': 'colour', onchange: () => app.set({ colour: this.colours.value }) },
            Object.entries(COLOURS).map(([value, name]) => h('option', { value }, name)),
        );
        this.invert = h(
            'button',
            {
                title: 'from what allocates to its callers (i)',
                onclick: () => app.set({ invert: !app.state.invert, zoom: 0 }),
            },
            'Inverted',
        );
        this.up = h(
            'button',
            { title: 'roots at the bottom', onclick: () => app.set({ up: !app.state.up }) },
            'Upwards',
        );
        return [app.base ? null : this.colours, this.invert, this.up];
    }

    listen() {
        this.canvas.onpointermove = (ev) => this.hover(this.at(ev));
        this.canvas.onpointerleave = () => this.hover(null);
        this.canvas.onclick = (ev) => this.click(this.at(ev));
        this.canvas.onkeydown = (ev) => this.key(ev);
        new ResizeObserver(
            () => this.scroll.clientWidth !== this.width && this.app.figures && this.update(false),
        ).observe(this.scroll);
    }

    forget() {
        this.panel.forget();
        this.hues.clear();
    }

    update(moving) {
        const { state, model } = this.app;
        this.colours.value = state.colour;
        mark(this.invert, 'aria-pressed', state.invert);
        mark(this.up, 'aria-pressed', state.up);
        this.width = this.scroll.clientWidth;
        if (!this.width) return;
        const make = state.invert ? inverted : downwards;
        const { boxes, sum } = make(model, this.app.figures.nodes, state.zoom, this.width);
        Object.assign(this, { boxes, sum, rows: rowsOf(boxes) });
        this.draw();
        this.outline();
        if (!moving) this.trail();
        this.panel.show(this.pointed ?? this.selected, moving);
    }

    draw() {
        const { app, rows } = this;
        const { match, state } = app;
        const height = (this.height = Math.max(rows.length, 4) * ROW + 1);
        const c = sized(this.canvas, this.width, height);
        const ink = colour('--flame-ink');
        const found = colour('--accent');
        c.font = '11.5px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
        c.textBaseline = 'middle';
        const colourOf = this.painter();
        for (const box of this.boxes) {
            const y = this.top(box);
            const lit = !match || this.matches(box, match);
            c.globalAlpha = lit ? 1 : 0.22;
            c.fillStyle = colourOf(box);
            c.fillRect(box.x, y, Math.max(box.w - (box.w > 3 ? 1 : 0), 0.4), ROW - 1);
            if (match && box.frame >= 0 && match.frames[box.frame]) {
                c.fillStyle = found;
                c.fillRect(box.x, y + ROW - 3, Math.max(box.w - 1, 0.5), 2);
            }
            if (box.w > 30) this.write(c, box, y, ink);
        }
        c.globalAlpha = 1;
        mark(this.canvas, 'data-up', state.up ? 1 : null);
    }

    top(box) {
        return this.app.state.up ? this.height - (box.depth + 1) * ROW : box.depth * ROW;
    }

    matches(box, match) {
        if (box.frame < 0) return true;
        return box.ends
            ? match.frames[box.frame] === 1
            : Boolean(match.under[box.node] || match.above[box.node]);
    }

    /** A name as long as there is room; the browser narrows what is wider than it looked. */
    write(c, box, y, ink) {
        const room = box.w - 7;
        const fits = Math.floor(room / LETTER);
        const name = this.label(box);
        const text = name.length > fits + 2 ? `${name.slice(0, Math.max(1, fits - 1))}…` : name;
        c.fillStyle = ink;
        c.fillText(text, box.x + 4, y + ROW / 2, room);
    }

    label(box) {
        const { model } = this.app;
        if (box.chain) {
            const last = model.functionOf(model.frame[box.chain.at(-1)]);
            return box.chain.length > 1 ? `${last} ‹ ${box.chain.length - 1} more` : last;
        }
        const kind = model.kindOf(box.frame);
        const python = kind === 'python' || kind === 'library';
        let text = model.functionOf(box.frame);
        if (python) text += `  ${model.place(box.frame)}`;
        if (box.w > 150) text += `  ${percent(share(box.value, this.app.figures.sum))}`;
        if (box.w > 300 && python) text += `   ${model.textAt(box.frame)}`;
        return text;
    }

    /** A function that tells the colour of a box. */
    painter() {
        const { model, base, state, figures } = this.app;
        const light = colour('--flame-light').match(/\d+/)[0] > 128 ? '76%' : '34%';
        const kinds = Object.fromEntries(KINDS.map((k) => [k, colour(`--f-${k}`)]));
        const root = colour('--f-root');
        if (base)
            return (box) =>
                box.frame < 0 || box.chain
                    ? root
                    : this.changeColour(box, light, kinds.interpreter);
        const plain = (box) => kinds[model.kindOf(box.frame)];
        const inOwn = (box) => ['python', 'library', 'native'].includes(model.kindOf(box.frame));
        const special = {
            size: (box) => {
                const part = Math.sqrt(share(box.value, figures.sum));
                return `hsl(${205 - 190 * part} ${45 + 35 * part}% ${light})`;
            },
            module: (box) => `hsl(${this.hue(box.frame)} 42% ${light})`,
        }[state.colour];
        return (box) =>
            box.frame < 0 || box.chain ? root : special && inOwn(box) ? special(box) : plain(box);
    }

    hue(frame) {
        if (!this.hues.has(frame)) {
            const { model } = this.app;
            const path = model.fileOf(frame).replace(/^.*(?:site|dist)-packages\/([^/]+).*$/, '$1');
            this.hues.set(frame, hueOf(model.moduleOf(frame) || path));
        }
        return this.hues.get(frame);
    }

    /** Red grew, blue shrank, by how much of it. */
    changeColour(box, light, same) {
        const grew = box.ends ? 0 : this.app.figures.change[box.node];
        const part = Math.max(
            -1,
            Math.min(1, (2 * grew) / (Math.abs(box.value) + Math.abs(box.value - grew) + 1e-9)),
        );
        if (part > 0.005) return `hsl(8 ${30 + 60 * part}% ${light})`;
        return part < -0.005 ? `hsl(212 ${30 - 60 * part}% ${light})` : same;
    }

    at(ev) {
        const box = this.canvas.getBoundingClientRect();
        const y = ev.clientY - box.top;
        const row = this.app.state.up ? Math.floor((this.height - y) / ROW) : Math.floor(y / ROW);
        return boxAt(this.rows[row], ev.clientX - box.left);
    }

    hover(box) {
        if (box === this.pointed) return;
        this.pointed = box;
        this.canvas.classList.toggle('hit', Boolean(box));
        this.outline();
        this.panel.show(box ?? this.selected, false);
    }

    /** The frame that is pointed at, or was chosen. */
    outline() {
        const wanted = this.pointed ?? this.selected;
        const box =
            wanted &&
            (this.boxes.includes(wanted)
                ? wanted
                : this.boxes.find((b) => b.node === wanted.node && b.frame === wanted.frame));
        this.ring.hidden = !box;
        if (!box) return;
        Object.assign(this.ring.style, {
            left: `${box.x}px`,
            top: `${this.top(box)}px`,
            width: `${Math.max(box.w - 1, 2)}px`,
            height: `${ROW - 1}px`,
        });
    }

    click(box) {
        if (!box) return;
        const { state, model } = this.app;
        this.selected = box;
        if (state.invert) this.update(false);
        else
            this.app.set({
                zoom: state.zoom === box.node ? Math.max(model.parent[box.node], 0) : box.node,
            });
    }

    key(ev) {
        const now =
            this.selected &&
            this.boxes.find(
                (b) => b.node === this.selected.node && b.depth === this.selected.depth,
            );
        const box = now ?? this.boxes[0];
        if (!box) return;
        const row = this.rows[box.depth];
        const inside = (b, outer) => b.x >= outer.x - 0.01 && b.x < outer.x + outer.w;
        const next = {
            ArrowDown: () =>
                this.rows[box.depth + 1]
                    ?.filter((b) => inside(b, box))
                    .sort((a, b) => b.value - a.value)[0],
            ArrowUp: () => this.rows[box.depth - 1]?.find((b) => inside(box, b)),
            ArrowLeft: () => row[row.indexOf(box) - 1],
            ArrowRight: () => row[row.indexOf(box) + 1],
        }[ev.key];
        if (ev.key === 'Enter') this.click(box);
        else if (ev.key === 'Escape') this.leave();
        else if (next) this.walk(next() ?? box);
        else return;
        ev.preventDefault();
    }
    walk(box) {
        this.selected = box;
        this.outline();
        this.panel.show(box, false);
        this.ring.scrollIntoView({ block: 'nearest' });
    }
    leave() {
        this.selected = null;
        this.app.set({ zoom: 0 });
    }

    /** The way from the root to what is zoomed into. */
    trail() {
        const { model, state } = this.app;
        const path = state.zoom ? [...ancestors(model, state.zoom).slice(1), state.zoom] : [];
        const some = path.length > 6 ? [path[0], -1, ...path.slice(-4)] : path;
        show(
            this.crumbs,
            h('button', { disabled: !path.length, onclick: () => this.leave() }, 'all'),
            some.map((n) =>
                n < 0
                    ? h('span', {}, '…')
                    : h(
                          'button',
                          {
                              'aria-current': n === state.zoom ? 'location' : null,
                              onclick: () => this.app.set({ zoom: n }),
                          },
                          model.functionOf(model.frame[n]),
                      ),
            ),
        );
        put(this.ring, '');
    }
}
