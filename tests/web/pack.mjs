// pack - data as the tool writes it into a page (docs/PAGE.md): the other side of
// web/src/decode.js, written from the description, so that a fault of one is not the fault of both.

import { deflateRawSync } from 'node:zlib';

/** Numbers as LEB128. */
export function leb(values) {
    const out = [];
    for (const value of values) {
        let rest = BigInt(value);
        while (rest > 127n) {
            out.push(Number(rest & 127n) | 128);
            rest >>= 7n;
        }
        out.push(Number(rest));
    }
    return Buffer.from(out);
}

const u32 = (...values) => {
    const out = Buffer.alloc(4 * values.length);
    values.forEach((v, i) => out.writeUInt32LE(v, 4 * i));
    return out;
};

/** A section of columns. */
export function columns(...lists) {
    const parts = lists.map(leb);
    return Buffer.concat([u32(parts.length), u32(...parts.map((p) => p.length)), ...parts]);
}

export const deltas = (values) => values.map((v, i) => v - (i ? values[i - 1] : 0));

/** { NAME: Buffer } → base64 of the deflated whole. */
export function pack(sections) {
    const names = Object.keys(sections);
    const head = names.map((name) =>
        Buffer.concat([Buffer.from(name, 'latin1'), u32(sections[name].length)]),
    );
    const blob = Buffer.concat([
        Buffer.from('TPG1'),
        u32(names.length),
        ...head,
        ...names.map((n) => sections[n]),
    ]);
    return deflateRawSync(blob, { level: 6 }).toString('base64');
}

/** A page: the template with the data of one or two runs; `beside`: of their other spaces, by place. */
export function page(template, ...runs) {
    const script = (id, run) =>
        `<script type="application/octet-stream" id="tide-${id}">${pack(run.sections)}</script>\n`;
    const scripts = runs.flatMap((run, i) => [
        script('ab'[i], run),
        ...Object.entries(run.beside ?? {}).map(([n, one]) => script(`${'ab'[i]}-${n}`, one)),
    ]);
    const parts = template.split('<!--DATA-->');
    if (parts.length !== 2) throw new Error('the template has no place for data, or several');
    return parts[0] + scripts.join('') + parts[1];
}
