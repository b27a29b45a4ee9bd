// search - functions, files, modules and file:line that match, and the stacks that go through them.

/** Words that match a text as it is. */
export const literal = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** A test of text: a regular expression, or plain words where it is none. */
function testFor(words) {
    try {
        const pattern = new RegExp(words, 'i');
        return (text) => pattern.test(text);
    } catch {
        const low = words.toLowerCase();
        return (text) => text.toLowerCase().includes(low);
    }
}

/** Frames that match. */
function matchFrames(model, words) {
    const { frames, strings } = model;
    const test = testFor(words);
    const fits = strings.map((text) => text !== '' && test(text));
    const place = /^([^:]+):(\d+)$/.exec(words);
    const out = new Uint8Array(frames.count);
    for (let f = 0; f < frames.count; f++) {
        const here =
            place && frames.line[f] === Number(place[2]) && model.fileOf(f).endsWith(place[1]);
        if (here || fits[frames.name[f]] || fits[frames.file[f]] || fits[frames.module[f]])
            out[f] = 1;
    }
    return out;
}

/** frames: that match; under: nodes at or below one; above: nodes that lead to one. */
export function search(model, words) {
    if (!words) return null;
    const { parent, frame } = model;
    const frames = matchFrames(model, words);
    const under = new Uint8Array(parent.length);
    const above = new Uint8Array(parent.length);
    for (let n = 1; n < parent.length; n++) under[n] = under[parent[n]] || frames[frame[n]] ? 1 : 0;
    for (let n = parent.length - 1; n > 0; n--) if (under[n] || above[n]) above[parent[n]] = 1;
    return { words, frames, under, above };
}

/** What the stacks that match amount to. */
export function amount(model, match, values) {
    let sum = 0;
    let stacks = 0;
    const { node, site } = model.leaves;
    // what was folded away is told by the frame in it that asks
    const fits = (l) => match.under[node[l]] || (site[l] > 0 && match.frames[site[l] - 1]);
    for (let l = 0; l < values.length; l++) {
        if (!(values[l] > 0) || !fits(l)) continue;
        sum += values[l];
        stacks++;
    }
    return { sum, stacks };
}
