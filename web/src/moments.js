// moments - the moments of a run that have a name: where regions begin and end, steps, marks.

/** By words that say which, as "the end of “load” (2)"; times in seconds. */
function momentsOf(meta) {
    const [out, counts] = [new Map(), new Map()];
    const add = (words, us) => {
        const nth = (counts.get(words) ?? 0) + 1;
        counts.set(words, nth);
        out.set(nth > 1 ? `${words} (${nth})` : words, us / 1e6);
    };
    for (const region of meta.regions) {
        add(`the beginning of “${region.name}”`, region.start);
        add(`the end of “${region.name}”`, region.end ?? meta.duration);
    }
    for (const { name, began, ends } of meta.steps) {
        let end = 0;
        add(`the first ${name || 'step'}`, began ?? 0);
        ends.forEach((delta, i) => add(`the end of ${name || 'step'} ${i + 1}`, (end += delta)));
    }
    for (const { name, time } of meta.marks) add(`“${name}”`, time);
    return out;
}

/** For edges of a run that are moments which another run has, too: when they are there, in words. */
export function pairMoments(model, other) {
    const there = momentsOf(other.meta);
    const out = new Map([
        [-1, { time: 0, words: 'the start' }],
        [model.cells - 1, { time: other.end, words: 'the end' }],
    ]);
    for (const [words, t] of momentsOf(model.meta)) {
        const edge = model.quietAt(t);
        if (there.has(words) && !out.has(edge)) out.set(edge, { time: there.get(words), words });
    }
    return out;
}

/**
 * When a moment of the other run would be in this one: in proportion between the moments that both have.
 * @param {{ there: number, here: number }[]} pairs
 */
export function timesHere(pairs, times) {
    const fixed = [];
    for (const pair of [...pairs].sort((a, b) => a.here - b.here || a.there - b.there))
        if (!fixed.length || (pair.there > fixed.at(-1).there && pair.here > fixed.at(-1).here))
            fixed.push(pair);
    let i = 0;
    return Float64Array.from(times, (t) => {
        while (i + 2 < fixed.length && t > fixed[i + 1].there) i++;
        const [a, b] = [fixed[i], fixed[i + 1] ?? fixed[i]];
        return a.here + ((t - a.there) / (b.there - a.there || 1)) * (b.here - a.here);
    });
}
