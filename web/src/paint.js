// paint - canvases in CSS pixels, and the colours of the style sheet for them.

const known = new Map();
let probe;

/** The colour that a variable of the style sheet has in the present theme. */
export function colour(name) {
    if (known.has(name)) return known.get(name);
    probe ??= document.body.appendChild(
        Object.assign(document.createElement('i'), { hidden: true }),
    );
    probe.style.color = `var(${name})`;
    known.set(name, getComputedStyle(probe).color);
    return known.get(name);
}

/** After a change of the theme. */
export const forgetColours = () => known.clear();

/** @returns {CanvasRenderingContext2D} of a canvas of so many CSS pixels, empty */
export function sized(canvas, width, height) {
    const ratio = window.devicePixelRatio || 1;
    const [w, h] = [
        Math.max(1, Math.round(width * ratio)),
        Math.max(1, Math.round(height * ratio)),
    ];
    if (canvas.width !== w || canvas.height !== h) {
        canvas.width = w;
        canvas.height = h;
        canvas.style.width = `${width}px`;
        canvas.style.height = `${height}px`;
    }
    const c = canvas.getContext('2d');
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    return c;
}

export const FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

/**
 * A filled step curve: values[i] holds from times[i] on. x(t) and y(v) give pixels; y(0) is the
 * floor.
 */
export function steps(c, times, values, x, y, end) {
    if (!times.length) return;
    let level = y(0);
    c.beginPath();
    c.moveTo(x(times[0]), level);
    for (let i = 0; i < times.length; i++) {
        const at = x(times[i]);
        c.lineTo(at, level);
        level = y(values[i]);
        c.lineTo(at, level);
    }
    c.lineTo(x(end), level);
}

/** Closes the curve of steps() to an area and fills it. */
export function under(c, times, x, y, end, fill) {
    c.lineTo(x(end), y(0));
    c.lineTo(x(times[0] ?? 0), y(0));
    c.fillStyle = fill;
    c.fill();
}

/**
 * The room that an element has. Asked once for many of a kind: each question after a change costs a
 * layout.
 */
export const roomOf = (element) => [element.clientWidth || 120, element.clientHeight || 20];

/**
 * A sparkline: live bytes at every edge, over the whole run. The window is shaded by the style
 * sheet.
 */
export function spark(canvas, [width, height], series, edges, end) {
    const c = sized(canvas, width, height);
    let most = 0;
    for (const v of series) if (v > most) most = v;
    if (!most) return;
    const x = (t) => (t / (end || 1)) * width;
    const y = (v) => height - (v / most) * (height - 1);
    steps(c, edges, series, x, y, end);
    c.globalAlpha = 0.75;
    under(c, edges, x, y, end, colour('--heap'));
}

/** Round values for an axis of bytes up to `top`: powers of two. */
export function ticksOfBytes(top, most = 5) {
    if (!(top > 0)) return [0];
    let step = 2 ** Math.ceil(Math.log2(top / most));
    if (top / step < 2.5) step /= 2;
    const out = [];
    for (let v = 0; v <= top; v += step) out.push(v);
    return out;
}

/** Round moments for an axis from `start` to `end`, in seconds. */
export function ticksOfTime(start, end, most) {
    if (!(end > start)) return [start];
    const rough = (end - start) / Math.max(1, most);
    const tens = 10 ** Math.floor(Math.log10(rough));
    const nice =
        rough < 60
            ? [1, 2, 5, 10].map((n) => n * tens)
            : [60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400];
    const step = nice.find((n) => n >= rough) ?? Math.ceil(rough / 86400) * 86400;
    const out = [];
    const last = end + (end - start) * 1e-4;
    for (let i = Math.ceil(start / step); i * step <= last; i++) out.push(i * step);
    return out;
}
