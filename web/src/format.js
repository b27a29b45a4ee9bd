// format - numbers as people read them, by the rules of the text report, so that both show the
// same. What is not known is "n/a", never 0.

const BINARY = ['KiB', 'MiB', 'GiB', 'TiB'];
const absent = (n) => n == null || !Number.isFinite(n);

export function bytes(n) {
    if (absent(n)) return 'n/a';
    const sign = n < 0 ? '−' : '';
    let size = Math.abs(n);
    if (size < 1024) return `${sign}${size.toFixed(0)} B`;
    let unit = 0;
    for (size /= 1024; size >= 1023.95 && unit < BINARY.length - 1; unit++) size /= 1024;
    return `${sign}${size.toFixed(1)} ${BINARY[unit]}`;
}

export function count(n) {
    if (absent(n)) return 'n/a';
    const size = Math.abs(n);
    if (size >= 1e9) return `${(n / 1e9).toFixed(2)} G`;
    if (size >= 1e6) return `${(n / 1e6).toFixed(2)} M`;
    if (size >= 1e4) return `${(n / 1e3).toFixed(1)} k`;
    return whole(n);
}

/** A count in full. */
export const whole = (n) => (absent(n) ? 'n/a' : Math.round(n).toLocaleString('en'));

/** Seconds. No unit is shown with as many as the next one has. */
export function time(s) {
    if (absent(s)) return 'n/a';
    if (s < 0) return `−${time(-s)}`;
    if (s === 0) return '0 s';
    if (s < 999.5e-6) return `${(s * 1e6).toFixed(0)} µs`;
    if (s < 0.9995) return `${(s * 1e3).toFixed(s < 0.01 ? 1 : 0)} ms`;
    if (s < 59.995) return `${s.toFixed(2)} s`;
    const all = Math.max(60, Math.floor(s));
    const two = (n) => String(n).padStart(2, '0');
    if (all < 3600) return `${Math.floor(all / 60)} m ${two(all % 60)} s`;
    return `${Math.floor(all / 3600)} h ${two(Math.floor((all % 3600) / 60))} m`;
}

/** A moment, in seconds, so that those of a span of time can be told apart. */
export function moment(s, span) {
    const digits = span > 0 ? Math.min(6, Math.ceil(2 - Math.log10(span))) : 0;
    return digits > 2 + (s < 1) && s < 3600 ? `${s.toFixed(digits)} s` : time(s);
}

/** Microseconds. */
export const micros = (us) => time(absent(us) ? us : us / 1e6);

export function percent(part) {
    if (absent(part)) return 'n/a';
    if (part >= 0.0995) return `${(part * 100).toFixed(0)} %`;
    if (part >= 0.001) return `${(part * 100).toFixed(1)} %`;
    return part > 0 ? '< 0.1 %' : '0 %';
}

/** a / b as a share, where b may be nothing. */
export const share = (a, b) => (b > 0 ? a / b : 0);

export const inUnit = { bytes, count, us: micros };
export const signed = (unit, n) => (n > 0 ? '+' : '') + inUnit[unit](n);

/** The last part of a path, with its folder where many have such a name: "gdb/__init__.py". */
export const short = (path) => /([^/]+\/)?__[^/]*$|[^/]*$/.exec(path)[0];

/** A C++ name without its templates and arguments. */
export function brief(name) {
    if (name.length < 60) return name;
    let out = '';
    let deep = 0;
    for (const c of name) {
        if (c === '<' || c === '(') deep++;
        if (!deep) out += c;
        if ((c === '>' || c === ')') && deep) deep--;
    }
    return out.trim() || name;
}

export const plural = (n, one, many = `${one}s`) => `${whole(n)} ${n === 1 ? one : many}`;
