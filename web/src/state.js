// state - what is looked at, kept in the address so that a link brings it back.
//
// #view=…&measure=…&t=a-b&q=…&only=p2|t5&label=key=value&space=cuda:0&zoom=…&group=…&colour=…&invert=1&up=1&file=…&line=…
// zoom is the number of a node, and so of this file only.

const DEFAULTS = {
    view: '',
    measure: '',
    q: '',
    only: '',
    label: '',
    space: '',
    zoom: 0,
    group: 'line',
    sort: '',
    colour: 'kind',
    invert: false,
    up: false,
    stack: false,
    file: '',
    line: 0,
};

/** @returns what a page shows that is opened without an address */
export const initial = (model, views, measures) => ({
    ...DEFAULTS,
    view: views[0],
    measure: measures[0] ?? '',
    from: -1,
    to: model.cells - 1,
});

function readWindow(text, model) {
    const [a, b] = text.split('-').map(Number);
    const last = model.cells - 1;
    const from = a > 0 ? model.quietAt(a) : -1;
    const to = b > 0 ? model.quietAt(b) : last;
    if (to > from) return { from, to };
    const next = model.quiet.find((edge) => edge > from);
    return next === undefined ? { from: -1, to: last } : { from, to: next };
}

/** The space of memory that an address asks for; '' for the first. */
export const spaceIn = (hash) => new URLSearchParams(hash.replace(/^#/, '')).get('space') ?? '';

/** The state that an address asks for; what this page does not have is ignored. */
export function read(hash, model, views, measures) {
    const given = new URLSearchParams(hash.replace(/^#/, ''));
    const state = initial(model, views, measures);
    for (const [key, value] of given) {
        const kind = typeof DEFAULTS[key];
        if (!Object.hasOwn(DEFAULTS, key)) continue;
        if (kind === 'boolean') state[key] = value === '1';
        else if (kind === 'number') state[key] = Math.max(0, Math.floor(Number(value)) || 0);
        else if (
            key === 'view'
                ? views.includes(value)
                : key === 'measure'
                  ? measures.includes(value)
                  : true
        )
            state[key] = value;
    }
    if (state.zoom >= model.parent.length) state.zoom = 0;
    if (given.has('t') && model.cells) Object.assign(state, readWindow(given.get('t'), model));
    return state;
}

/** @returns the address of a state: only what differs from the beginning is in it */
export function write(state, model, views, measures) {
    const start = initial(model, views, measures);
    const out = new URLSearchParams();
    for (const key of Object.keys(DEFAULTS))
        if (state[key] !== start[key])
            out.set(key, state[key] === true ? '1' : state[key] === false ? '0' : state[key]);
    if (state.from !== start.from || state.to !== start.to)
        out.set('t', `${model.timeOf(state.from).toFixed(6)}-${model.timeOf(state.to).toFixed(6)}`);
    return `#${out}`;
}
