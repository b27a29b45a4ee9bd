// changed - lines that are in both runs, but whose text was changed: to edit a line is to change it, not to take
// one away and write another.

const ALIKE = 0.5; // of the words of both texts together
const MOST = 300; // lines of a file that only one run has: of more, no two are compared

const wordsOf = (text) => text.match(/\w+|[^\s\w]/g) ?? [];

/** How much of two texts is the same, in the order of neither: 1 all, 0 nothing. */
function likeness(a, b) {
    const left = new Map();
    for (const word of a) left.set(word, (left.get(word) ?? 0) + 1);
    let common = 0;
    for (const word of b) {
        const count = left.get(word) ?? 0;
        if (count) left.set(word, count - 1);
        common += count > 0;
    }
    return (2 * common) / (a.length + b.length || 1);
}

/** The one of `others` that is most like a row; of several the nearest. */
function likest(row, others) {
    let [best, most] = [null, 0];
    for (const other of others) {
        const part = likeness(row.words, other.words);
        const nearer =
            part === most && Math.abs(other.line - row.line) < Math.abs(best?.line - row.line);
        if (part >= ALIKE && (part > most || nearer)) [best, most] = [other, part];
    }
    return best;
}

function byFile(rows) {
    const out = new Map();
    for (const row of rows) {
        if (!row.text) continue;
        if (!out.has(row.file)) out.set(row.file, []);
        out.get(row.file).push({ ...row, words: wordsOf(row.text) });
    }
    return out;
}

/**
 * Of rows that only one run has, those that are one line: each the one that the other is most like.
 * @param {{ place: number, file: string, line: number, text: string }[]} gone
 * @param {{ place: number, file: string, line: number, text: string }[]} added
 * @returns {Map<number, number>} places of the older run → those of the newer
 */
export function changed(gone, added) {
    const out = new Map();
    const now = byFile(added);
    for (const [file, rows] of byFile(gone)) {
        const others = now.get(file) ?? [];
        if (rows.length > MOST || others.length > MOST) continue;
        for (const row of rows) {
            const found = likest(row, others);
            if (found && likest(found, rows) === row) out.set(row.place, found.place);
        }
    }
    return out;
}
