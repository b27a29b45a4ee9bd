// renamed - files of source that are called otherwise in the other run: a script that was copied to
// change it is one file, not two that have nothing in common.

import { short } from './format.js';

const ALIKE = 0.5; // of the lines of the smaller file

/** Text by file, by the name that a comparison knows it by. */
function texts(model) {
    const out = new Map();
    for (const [file, lines] of model.source) {
        const all = out.get(short(file)) ?? new Set();
        for (const text of lines.values()) if (text.trim()) all.add(text.trim());
        out.set(short(file), all);
    }
    return out;
}

const without = (files, others) =>
    [...files].filter(([name, lines]) => !others.has(name) && lines.size);

/** The file that is most like one, if any is. */
function likest(lines, files) {
    let [best, most] = [null, 0];
    for (const [name, others] of files) {
        const common = [...lines].filter((text) => others.has(text)).length;
        const part = common / Math.min(lines.size, others.size);
        if (part >= ALIKE && part > most) [best, most] = [name, part];
    }
    return best;
}

/** @returns {Map<string, string>} names of the older run → those of the newer */
export function renamed(newer, older) {
    const [now, before] = [texts(newer), texts(older)];
    const [added, gone] = [without(now, before), without(before, now)];
    const out = new Map();
    for (const [name, lines] of gone) {
        const found = likest(lines, added);
        if (found && likest(now.get(found), gone) === name) out.set(name, found);
    }
    return out;
}
