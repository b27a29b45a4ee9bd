// trend - whether what a line holds grows, judged at the quiet moments of a window.

const SAMPLES = 40;
const STRETCHES = 20;

/**
 * The median of the slopes between all pairs of moments, and how steadily it rises (Kendall's tau).
 */
export function slopeOf(series, edges, quiet, from, to) {
    const inside = quiet.filter((edge) => edge >= Math.max(from, 0) && edge <= to);
    const step = Math.max(1, Math.floor(inside.length / SAMPLES));
    const at = inside.filter((_, i) => i % step === 0);
    const slopes = [];
    let rises = 0;
    for (let i = 0; i < at.length; i++)
        for (let j = i + 1; j < at.length; j++) {
            const span = edges[at[j]] - edges[at[i]];
            if (!(span > 0)) continue;
            const grew = series[at[j]] - series[at[i]];
            slopes.push(grew / span);
            rises += Math.sign(grew);
        }
    slopes.sort((a, b) => a - b);
    return {
        slope: slopes[slopes.length >> 1] ?? 0,
        tau: slopes.length ? rises / slopes.length : 0,
    };
}

/**
 * In which part of equal stretches of a window something was born; of cells there are more where regions are,
 * or steps.
 */
function spreadOf(births, model, from, to) {
    const [start, end] = [model.timeOf(from), model.timeOf(to)];
    const moments = model.quiet.filter((edge) => edge > from && edge <= to).length;
    const parts = Math.max(1, Math.min(STRETCHES, moments));
    const found = new Set();
    for (let cell = from + 1; cell <= to; cell++)
        if (births[cell] > 0) {
            const part = ((model.timeOf(cell) - start) / (end - start || 1)) * parts;
            found.add(Math.min(parts - 1, Math.floor(part)));
        }
    return found.size / parts;
}

/** births: bytes that were kept, by cell of birth. */
export function judge(series, births, model, from, to) {
    const { slope, tau } = slopeOf(series, model.edges, model.quiet, from, to);
    const span = model.timeOf(to) - model.timeOf(from);
    const kept = births.reduce((a, b) => a + b, 0);
    const spread = spreadOf(births, model, from, to);
    let verdict = 'steady';
    if (tau > 0.6 && spread > 0.3) verdict = 'growing';
    else if (spread < 0.08) verdict = 'grew once';
    else if (tau > 0.3 && slope * span > 0.2 * kept) verdict = 'unclear';
    return { verdict, slope };
}

/** The cell before which half of what was kept was born. */
export function middleOf(births, from, to) {
    let left = births.reduce((a, b) => a + b, 0) / 2;
    for (let cell = from + 1; cell <= to; cell++) {
        left -= births[cell];
        if (left <= 0) return cell;
    }
    return to;
}
