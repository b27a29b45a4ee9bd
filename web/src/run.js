// run - the facts: what ran, where, which numbers are exact, sampled or bounds, and what is
// missing.

import { h, show } from './dom.js';
import { bytes, count, percent, plural, time, whole } from './format.js';
import { card } from './first.js';

// what has a row of its own here
const SAID = new Set([
    'duration',
    'peak resident memory, at least',
    'peak resident memory, at most',
    'peak heap',
    'peak heap at',
    'processes',
]);
const SORTS = ['exact', 'sampled', 'bound', 'bounds', 'measured', 'lost', 'close'];

/** What kind a number is: short words as a tag, longer ones as they are. */
function tag(kind) {
    if (!kind) return null;
    const [, first] = /^(\w*)/.exec(kind);
    return h(
        'span',
        { class: SORTS.includes(first) || kind.length < 24 ? `tag ${first}` : 'soft' },
        kind,
    );
}

/** A value in its unit. */
function valueText({ value, unit }) {
    if (value == null) return 'n/a';
    if (unit === 'bytes') return bytes(value);
    if (unit === 'ns') return time(value / 1e9);
    if (unit === 'count') return whole(value);
    if (unit === 'percent') return `${value} %`;
    return String(value);
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

const row = (name, value, kind, tip) => [
    h('dt', {}, name),
    h('dd', {}, value, ' ', tag(kind), tip ? h('small', {}, tip) : null),
];

function peaks({ meta, has }) {
    const { peak_rss: rss, peak_heap: heap } = meta;
    const out = [];
    if (rss?.lower != null) {
        const { lower, upper } = rss;
        const most = upper == null ? ' or more' : upper === lower ? '' : ` to ${bytes(upper)}`;
        out.push(
            row(
                'Peak RSS',
                bytes(lower) + most,
                rss.basis ?? (most ? 'bound' : 'exact'),
                'the kernel’s own high-water mark; of several processes what is proved',
            ),
        );
    }
    if (has.heap)
        out.push(
            row(
                'Peak heap',
                bytes(heap?.bytes ?? Math.max(0, ...(meta.grid?.heap ?? []))) +
                    (heap?.time == null ? '' : ` at ${time(heap.time / 1e6)}`),
                heap?.basis ?? (meta.sampled ? 'sampled' : 'exact'),
                'live blocks of all processes at one moment, which is always on the grid',
            ),
        );
    return out;
}

function pairing({ meta, has }) {
    const { named = 0, aged = 0, fallback = 0, ambiguous = 0 } = meta.pairing ?? {};
    const frees = named + aged + fallback;
    if (!has.heap || !frees) return null;
    const text =
        named === frees
            ? 'every free names its block'
            : `${percent(named / frees)} of the frees name their block, the others its age${ambiguous ? `; for ${percent(ambiguous / frees)} that allows more than one cell` : ''}`;
    return row(
        'Kept, temporary',
        text,
        meta.sampled ? 'sampled' : named === frees ? 'exact' : 'close',
        'a block whose age is not exactly known may count in the neighbouring cell; live, peak and allocated do not depend on it',
    );
}

function grid(model) {
    const { meta } = model;
    if (!model.cells) return null;
    return row(
        'Time',
        `a window begins and ends at one of ${whole(model.quiet.length)} quiet moments`,
        null,
        `the lowest of each equal part of the run, and regions, marks and steps; between each two the highest is kept, so that the peak of every window is exact (${whole(model.cells)} moments${meta.parts ? ` from ${meta.parts} parts` : ''})`,
    );
}

/** Why functions have no names: modules that lack the same are one sentence, and a list of the others. */
function unnamed(sentences) {
    const alike = new Map();
    for (const text of sentences) {
        const [, module, why] = /^(.+?) ((?:has|is) .+)$/s.exec(text) ?? [null, text, text];
        if (!alike.has(why)) alike.set(why, []);
        alike.get(why).push({ module, text });
    }
    return h(
        'ul',
        { class: 'unnamed' },
        [...alike.values()].map(([first, ...others]) =>
            h(
                'li',
                {},
                first.text,
                others.length
                    ? h(
                          'details',
                          {},
                          h('summary', {}, `The same is true of ${whole(others.length)} more.`),
                          h(
                              'ul',
                              {},
                              others.map(({ module }) => h('li', {}, module)),
                          ),
                      )
                    : null,
            ),
        ),
    );
}

function stacks({ meta, leaves, parent }) {
    const folded = meta.eps > 0;
    const before = meta.folded?.nodes
        ? `, ${whole(parent.length)} of ${whole(meta.folded.nodes)} nodes are shown`
        : '';
    return row(
        'Stacks',
        folded
            ? `what is below ${Number((meta.eps * 100).toPrecision(2))} % of every measure is folded into “(smaller)”${before}`
            : `${whole(meta.stacks ?? leaves.count)}, none folded`,
        null,
        'totals of what is shown are exact either way',
    );
}

function lost({ meta }) {
    const list = meta.losses.map(
        (l) =>
            `${l.count == null ? '' : `${whole(l.count)}: `}${l.what}${l.bytes ? ` (${bytes(l.bytes)})` : ''}`,
    );
    return row(
        'Lost',
        list.length
            ? h(
                  'ul',
                  {},
                  list.map((text) => h('li', {}, text)),
              )
            : 'nothing',
        list.length ? 'lost' : null,
    );
}

/** Everything that is worth knowing before one believes a number. */
function factsOf(model) {
    const { meta, has } = model;
    const missing = Object.entries({
        heap: 'allocations',
        cpu: 'CPU time',
        waits: 'waits',
        copies: 'copies',
        maps: 'mappings',
    })
        .filter(([k]) => !has[k])
        .map(([, name]) => name);
    return [
        row('Command', meta.command || '–'),
        meta.outcome ? row('Outcome', meta.outcome) : null,
        meta.started
            ? row(
                  'Started',
                  `${new Date(meta.started).toISOString().replace('T', ' ').slice(0, 19)} UTC`,
              )
            : null,
        row('Duration', time(meta.duration / 1e6)),
        ...peaks(model),
        pairing(model),
        has.cpu || has.waits
            ? row(
                  'CPU and waits',
                  `${count(model.cpu.count)} and ${count(model.waits.count)} sums`,
                  'sampled',
                  'each sample stands for a stretch of a thread’s CPU time or wait',
              )
            : null,
        grid(model),
        stacks(model),
        row('Processes, threads', `${whole(meta.processes.length)}, ${whole(meta.threads.length)}`),
        meta.coverage ? row('Coverage', String(meta.coverage)) : null,
        meta.health ? row('Health', String(meta.health)) : null,
        lost(model),
        missing.length ? row('Not recorded', missing.join(', ')) : null,
        meta.unnamed.length ? row('Without names', unnamed(meta.unnamed)) : null,
        meta.left_out ? row('Left out', meta.left_out) : null,
        meta.suppressed
            ? row(
                  'Known leaks',
                  `${plural(meta.suppressed.blocks, 'block')}, ${bytes(meta.suppressed.bytes)}, are not shown as findings`,
              )
            : null,
        row(
            'Trace',
            [
                meta.trace,
                meta.trace_bytes ? bytes(meta.trace_bytes) : '',
                meta.events ? `${count(meta.events)} events` : '',
            ]
                .filter(Boolean)
                .join(', '),
        ),
        ...meta.facts
            .filter(({ name }) => !SAID.has(name))
            .map((fact) => row(capital(fact.name), valueText(fact), fact.basis)),
        row(
            'This page',
            `tidemark ${meta.tool ?? ''}; it makes no requests and contains no third-party code`,
        ),
    ];
}

/** The host's memory and that of devices and pools, side by side. */
function spacesOf({ meta }) {
    if (!meta.spaces.length) return null;
    const one = (s) =>
        row(
            s.shown ? `${s.name} (shown here)` : s.name,
            s.peak == null
                ? 'nothing was allocated'
                : `${bytes(s.peak)} at ${time(s.time / 1e6)}; ${bytes(s.allocated)} in ${plural(s.allocations, 'allocation')}, ${bytes(s.alive)} alive at the end`,
            null,
            s.kind,
        );
    return [
        h('h3', {}, 'Memory by space'),
        h(
            'p',
            { class: 'soft' },
            'Peaks, each of its own moment; they are never added up. Which one the page shows is chosen beside the search.',
        ),
        h('dl', { class: 'facts spaces' }, meta.spaces.map(one)),
    ];
}

export class Run {
    constructor(host, app) {
        const { model, base } = app;
        const { findings } = model.meta;
        show(
            host,
            h('dl', { class: 'facts' }, factsOf(model)),
            spacesOf(model),
            base
                ? [h('h3', {}, 'The other run'), h('dl', { class: 'facts' }, factsOf(base.model))]
                : null,
            findings.length
                ? [
                      h('h3', {}, 'All findings'),
                      h(
                          'div',
                          { class: 'cards all' },
                          findings.map((f) => card(f, () => app.openFinding(f))),
                      ),
                  ]
                : null,
        );
    }

    update() {} // facts do not depend on the window
}
