// chart - what the timeline draws: memory over time, regions, marks, and strips of CPU, IO and
// devices.

import { bytes, moment, time } from './format.js';
import { colour, FONT, sized, steps, ticksOfBytes, ticksOfTime, under } from './paint.js';

export const BAND = 18; // height of the regions' names
const APART = 5; // pixels between lines where regions begin: more of them would hide the memory
export const STRIP = 26;
const AXIS = 20;
const MOST_PROCESSES = 8;

/**
 * Places in a chart of `width` × `height` pixels whose plot begins at `left` and shows the time from
 * `start` to `end`.
 */
export function frameOf(width, height, left, [start, end], top) {
    const inner = {
        left,
        top: BAND + 4,
        width: Math.max(10, width - left - 12),
        height: height - BAND - 4 - AXIS,
    };
    return {
        ...inner,
        start,
        end,
        span: end - start || 1,
        most: top,
        x: (t) => left + ((t - start) / (end - start || 1)) * inner.width,
        y: (v) => inner.top + inner.height * (1 - v / (top || 1)),
    };
}

/** Only what lies in the plot is drawn by `work`: what is shown may be a part of the run. */
export function within(c, f, work) {
    c.save();
    c.beginPath();
    c.rect(f.left, 0, f.width, f.top + f.height);
    c.clip();
    const out = work();
    c.restore();
    return out;
}

/** The values of a series between two times, and the one that holds when they begin. */
export function between(series, start, end) {
    if (!series) return [];
    const first = series.t.findLastIndex((t) => t <= start);
    return series.v.filter((_, i) => i >= first && series.t[i] <= end);
}

/** The highest value that has to fit. */
export function highest(...lists) {
    let top = 0;
    for (const list of lists) for (const v of list ?? []) if (v > top) top = v;
    return top * 1.06 || 1;
}

export function axes(c, f, width) {
    c.font = FONT;
    c.lineWidth = 1;
    c.strokeStyle = colour('--grid');
    c.fillStyle = colour('--muted');
    c.textBaseline = 'middle';
    c.textAlign = 'right';
    for (const v of ticksOfBytes(f.most)) {
        const y = Math.round(f.y(v)) + 0.5;
        c.beginPath();
        c.moveTo(f.left, y);
        c.lineTo(f.left + f.width, y);
        c.stroke();
        c.fillText(v ? bytes(v).replace(/\.0+ /, ' ') : '0', f.left - 6, y);
    }
    c.textAlign = 'center';
    const words = (t) =>
        (f.start ? moment(t, f.span) : time(t))
            .replace(/(\.\d*?)0+ (s|ms)$/, '$1 $2')
            .replace(/\. /, ' ')
            .replace(/^0 s$/, '0');
    for (const t of ticksOfTime(f.start, f.end, width / 110)) {
        const x = Math.min(Math.max(f.x(t), f.left + 3), f.left + f.width - 16);
        c.fillText(words(t), x, f.top + f.height + AXIS / 2 + 2);
    }
}

export function area(c, f, times, values, line, fill, dash = []) {
    if (!times.length) return;
    steps(c, times, values, f.x, f.y, f.end);
    c.setLineDash(dash);
    c.strokeStyle = colour(line);
    c.lineWidth = 1.4;
    c.stroke();
    c.setLineDash([]);
    if (fill) under(c, times, f.x, f.y, f.end, colour(fill));
}

/**
 * The heap with the greatest and the least of each bin, so that no spike is lost; where the bins are
 * of another stretch, at the edges of the grid.
 */
export function heap(c, f, model, sums) {
    const n = model.fine.hi.length;
    const [start, end] = model.stretch;
    if (sums.partial || !n || start !== f.start || end !== f.end) {
        area(c, f, model.edges, sums.liveAt, '--heap', '--heap-fill');
        return;
    }
    const times = Float64Array.from({ length: n }, (_, i) => start + (i / n) * (end - start));
    area(c, f, times, model.fine.hi, '--heap', '--heap-fill');
    steps(c, times, model.fine.lo, f.x, f.y, f.end);
    under(c, times, f.x, f.y, f.end, colour('--heap-fill'));
}

/** Outermost regions as named bands above the plot. */
export const bands = (model) => model.meta.regions.filter((r) => !(r.parent >= 0));

export function regions(c, f, model) {
    c.font = `600 ${FONT}`;
    c.textBaseline = 'middle';
    c.textAlign = 'left';
    const names = new Map(); // regions of one name have one colour
    let last = -APART;
    bands(model).forEach((region) => {
        if (!names.has(region.name)) names.set(region.name, names.size % 4);
        const a = f.x(region.start / 1e6);
        const b = f.x((region.end ?? model.meta.duration) / 1e6);
        c.fillStyle = colour(`--band-${names.get(region.name)}`);
        c.fillRect(a, f.top - BAND - 2, Math.max(1.5, b - a - 1), BAND - 2);
        if (a - last >= APART) {
            c.fillRect(a, f.top, 1, f.height);
            last = a;
        }
        if (b - a < 26) return;
        c.fillStyle = colour('--ink');
        c.save();
        c.beginPath();
        c.rect(a, f.top - BAND - 2, b - a - 3, BAND);
        c.clip();
        c.fillText(region.name, a + 4, f.top - BAND / 2 - 2);
        c.restore();
    });
}

export function marks(c, f, model) {
    c.fillStyle = colour('--muted');
    let before = -9;
    for (const mark of model.meta.marks) {
        const x = Math.round(f.x(mark.time / 1e6));
        if (x === before) continue;
        before = x;
        c.fillRect(x, f.top - 3, 1, 6);
    }
}

/** RSS of the largest processes, one on the other. @returns their names and colours */
export function stackOfProcesses(c, f, model) {
    const hue = (i) => (i * 67 + 190) % 360;
    const all = model.series.filter((s) => s.of === 'process' && s.name === 'rss' && s.v.length);
    const peak = (s) => s.v.reduce((a, b) => Math.max(a, b), 0);
    const list = all.sort((a, b) => peak(b) - peak(a)).slice(0, MOST_PROCESSES);
    const bins = Math.max(2, Math.floor(f.width / 2));
    let below = new Float64Array(bins);
    list.forEach((s, i) => {
        const above = below.slice();
        const process = model.meta.processes[s.id];
        for (let b = 0, k = -1; b < bins; b++) {
            const t = f.start + (b / (bins - 1)) * f.span;
            while (k + 1 < s.t.length && s.t[k + 1] <= t) k++;
            if (k >= 0 && t <= (process?.end ?? Infinity) / 1e6) above[b] += s.v[k];
        }
        ribbon(c, f, below, above, `hsl(${hue(i)} 45% 55% / .6)`);
        below = above;
    });
    const nameOf = ({ id }) => `${model.meta.processes[id]?.name} ${model.meta.processes[id]?.pid}`;
    return list.map((s, i) => ({ name: nameOf(s), colour: `hsl(${hue(i)} 45% 55%)` }));
}

/** The area between two rows of values at equal distances. */
export function ribbon(c, f, below, above, fill) {
    const x = (b) => f.left + (b / (above.length - 1)) * f.width;
    c.beginPath();
    for (let b = 0; b < above.length; b++) c.lineTo(x(b), f.y(above[b]));
    for (let b = above.length - 1; b >= 0; b--) c.lineTo(x(b), f.y(below[b]));
    c.fillStyle = fill;
    c.fill();
}

function stripBase(canvas, width, f, name) {
    const c = sized(canvas, width, STRIP);
    c.font = FONT;
    c.fillStyle = colour('--muted');
    c.textBaseline = 'middle';
    c.textAlign = 'right';
    c.fillText(name, f.left - 6, STRIP / 2, f.left - 8);
    c.fillStyle = colour('--grid');
    c.fillRect(f.left, STRIP - 2, f.width, 1);
    return c;
}

/** CPU use in even bins: a sample stands for a stretch of time, whatever the cell it fell into. */
function cpuLoads(model, sums, bins, f) {
    const step = f.span / bins;
    const bin = (t) => Math.floor((t - f.start) / step);
    const loads = sums.cpuCells.map(() => new Float64Array(bins));
    for (let i = 0, start = 0; i < model.cells; start = model.edges[i++]) {
        const first = Math.min(bins - 1, bin(start));
        const upTo = bin(model.edges[i]);
        const last = f.end < model.end ? upTo : Math.min(bins - 1, upTo);
        const per = 1e6 * step * (last - first + 1);
        sums.cpuCells.forEach((sort, k) => {
            if (!sort[i]) return;
            const end = Math.min(bins - 1, last);
            for (let b = Math.max(0, first); b <= end; b++) loads[k][b] += sort[i] / per;
        });
    }
    return loads;
}

export function cpuStrip(canvas, width, f, model, sums) {
    const c = stripBase(canvas, width, f, 'CPU');
    const bins = Math.max(60, Math.round(f.width / 4));
    const loads = cpuLoads(model, sums, bins, f);
    const at = (b) => loads.reduce((sum, sort) => sum + sort[b], 0);
    let most = 1;
    for (let b = 0; b < bins; b++) most = Math.max(most, at(b));
    const colours = ['--unknown', '--python', '--native', '--kernel'].map(colour);
    for (let b = 0; b < bins; b++) {
        let y = STRIP - 2;
        for (const k of [1, 2, 3, 0]) {
            const tall = (loads[k][b] / most) * (STRIP - 4);
            c.fillStyle = colours[k];
            c.fillRect(f.left + (b * f.width) / bins, y - tall, f.width / bins, tall);
            y -= tall;
        }
    }
}

/** What only grows (bytes read and written), as a rate: each step is spread over the time that it took. */
function rates(series, f, bins) {
    const out = new Float64Array(bins);
    const place = (t) => ((t - f.start) / f.span) * bins;
    for (const s of series)
        for (let i = 1; i < s.t.length; i++) {
            const [a, b] = [place(s.t[i - 1]), Math.max(place(s.t[i]), place(s.t[i - 1]) + 1e-9)];
            const grown = Math.max(0, s.v[i] - s.v[i - 1]) / (b - a);
            for (let k = Math.max(0, Math.floor(a)); k < Math.min(bins, b); k++)
                out[k] += grown * Math.max(0, Math.min(b, k + 1) - Math.max(a, k));
        }
    return out;
}

/** Rates as bars. */
function rateStrip(canvas, width, f, name, series, ink) {
    const c = stripBase(canvas, width, f, name);
    const bins = Math.max(60, Math.round(f.width / 4));
    const values = rates(series, f, bins);
    const most = highest(values);
    c.fillStyle = colour(ink);
    values.forEach((v, b) => {
        const tall = (v / most) * (STRIP - 4);
        c.fillRect(f.left + (b * f.width) / bins, STRIP - 2 - tall, f.width / bins, tall);
    });
}

export const ioStrip = (canvas, width, f, series) =>
    rateStrip(canvas, width, f, 'IO', series, '--wait');

/** CPU time of which only the sum is known. */
export const usedStrip = (canvas, width, f, series) =>
    rateStrip(canvas, width, f, 'CPU', [series], '--unknown');

/** Memory of another space, or of a device: each has a scale of its own, as they are never added up. */
export function memoryStrip(canvas, width, f, series) {
    const c = stripBase(canvas, width, f, series.label);
    const top = highest(series.v);
    const y = (v) => STRIP - 2 - (v / top) * (STRIP - 4);
    within(c, { ...f, top: 0, height: STRIP }, () => {
        steps(c, series.t, series.v, f.x, y, f.end);
        under(c, series.t, f.x, y, f.end, colour('--native'));
    });
}
