// decode - the packed data of a page: base64 → deflate → sections → columns of numbers.
//
// The bytes come from whoever made the page, so every length is checked against what is there.

const MAGIC = 0x31475054; // "TPG1"

/** @param {string} text base64 @returns {Uint8Array} */
function fromBase64(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const binary = atob(text);
    const out = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) out[i] = binary.charCodeAt(i);
    return out;
}

/** @param {Uint8Array} packed a raw deflate stream @returns {Promise<Uint8Array>} */
async function inflate(packed) {
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** @param {Uint8Array} bytes @returns {Map<string, Uint8Array>} the sections by name */
function split(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.length < 8 || view.getUint32(0, true) !== MAGIC)
        throw new Error('its data is of a kind that this page does not know');
    const sections = new Map();
    const count = view.getUint32(4, true);
    let at = 8 + 8 * count;
    for (let i = 0; i < count; i++) {
        const name = String.fromCharCode(...bytes.subarray(8 + 8 * i, 12 + 8 * i));
        const end = at + view.getUint32(12 + 8 * i, true);
        if (end > bytes.length) throw new Error(`its data ends within ${name}: the file is cut`);
        sections.set(name, bytes.subarray(at, end));
        at = end;
    }
    return sections;
}

/** The sections in an element of the page. @param {Element} element */
export const unpack = (element) => unpackBytes(() => fromBase64(element.textContent.trim()));

/** The sections of deflated bytes, which `get` gives. */
export async function unpackBytes(get) {
    let bytes;
    try {
        bytes = await inflate(get());
    } catch {
        throw new Error('its data is damaged or cut: write the page again with tidemark');
    }
    return split(bytes);
}

/** How many numbers end between two places. */
function numbers(bytes, from, to) {
    let n = 0;
    for (let i = from; i < to; i++) if (bytes[i] < 128) n++;
    return n;
}

/** One column of LEB128 numbers. */
function column(bytes, at, end, Kind) {
    const out = new Kind(numbers(bytes, at, end));
    for (let i = 0; i < out.length; i++) {
        let byte = bytes[at++];
        let value = byte & 127;
        for (let scale = 128; byte > 127; scale *= 128) {
            byte = bytes[at++];
            value += (byte & 127) * scale;
        }
        out[i] = value;
    }
    return out;
}

/**
 * The first columns of a section, each as an array of the kind asked for; what is not there is empty,
 * and what there is beyond is stepped over.
 * @param {Uint8Array|undefined} bytes
 */
export function columns(bytes, ...kinds) {
    if (!bytes || bytes.length < 4) return kinds.map((Kind) => new Kind(0));
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const count = view.getUint32(0, true);
    let at = 4 + 4 * count;
    return kinds.map((Kind, i) => {
        if (i >= count) return new Kind(0);
        const end = at + view.getUint32(4 + 4 * i, true);
        if (end > bytes.length) throw new Error('a column of its data is cut');
        const out = column(bytes, at, end, Kind);
        at = end;
        return out;
    });
}

// Marks that cannot be seen but turn round, join or hide what stands beside them: the text report
// shows none of them either (src/base/utf8.c).
const STEERING =
    /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb]/g;

export const textOf = (bytes) =>
    new TextDecoder('utf-8', { ignoreBOM: true })
        .decode(bytes ?? new Uint8Array(0))
        .replace(STEERING, '\ufffd');
export const jsonOf = (bytes) => (bytes ? JSON.parse(textOf(bytes)) : null);

/** Differences become values, in place. */
export function running(array) {
    for (let i = 1; i < array.length; i++) array[i] += array[i - 1];
    return array;
}
