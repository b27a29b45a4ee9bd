// first - what is said in five seconds: one sentence, and what is worth doing.

import { h, put, show } from './dom.js';
import { bytes, percent, share, signed, time } from './format.js';

const ICONS = {
    held: '▲',
    grows: '↗',
    grows_in: '↗',
    leak: '↗',
    churn: '↻',
    thrash: '▦',
    waits: '‖',
    starved: '‖',
    resident: '▤',
    mapped: '▤',
    copies: '⧉',
    cpu: '◔',
    unrecorded: '?',
    grew: '↗',
    shrank: '↘',
};
const MOST = 4;

/** Where the tool gave no sentence. */
function ownSentence(app) {
    const { model, totalsOfRun: t } = app;
    const rss = model.meta.peak_rss?.lower;
    const parts = [];
    if (model.has.heap)
        parts.push(`The heap peaked at ${bytes(t.peak)}, ${time(t.peakTime)} into the run`);
    if (rss) parts.push(`${parts.length ? 'at' : 'At'} most ${bytes(rss)} were resident`);
    return parts.length ? `${parts.join('; ')}.` : 'This recording holds no memory figures.';
}

/** Numbers with their units stand out; nothing else is marked up. */
function emphasised(text) {
    const parts = text.split(/(\b\d[\d.,]*\s(?:[KMGT]iB|B|us|ms|s|m|h|%)(?![\w]))/);
    return parts.map((part, i) => (i % 2 ? h('b', {}, part) : part));
}

export function sentence(host, app) {
    if (app.base) show(host, ...changeSentence(app));
    else show(host, ...emphasised(app.model.meta.sentence || ownSentence(app)));
}

function changeSentence(app) {
    const a = app.base;
    const before = a.sums.totals(-1, a.model.cells - 1);
    const after = app.totalsOfRun;
    const grew = after.peak - before.peak;
    const by = before.peak
        ? `, ${grew > 0 ? '+' : grew < 0 ? '−' : ''}${percent(share(Math.abs(grew), before.peak))}`
        : '';
    return [
        'The peak went from ',
        h('b', {}, bytes(before.peak)),
        ' to ',
        h('b', {}, bytes(after.peak)),
        ' ',
        h('span', { class: grew > 0 ? 'bad' : 'good' }, `(${signed('bytes', grew)}${by})`),
        h(
            'span',
            { class: 'soft' },
            `. ${a.model.meta.trace} → ${app.model.meta.trace}; ` +
                `${time(a.model.meta.duration / 1e6)} → ${time(app.model.meta.duration / 1e6)}.`,
        ),
    ];
}

/** A finding as a button that opens the view that proves it. */
export function card(finding, open) {
    const { kind, severity, title, evidence, advice, code, confidence } = finding;
    const likely = confidence && confidence !== 'certain' ? ` (${confidence})` : '';
    return h(
        'button',
        {
            class: `card k-${String(kind).replace(/\W/g, '')} s-${Number(severity) || 1}`,
            onclick: open,
        },
        h(
            'h3',
            {},
            h('span', { 'aria-hidden': 'true' }, `${ICONS[kind] ?? '●'} `),
            h('span', {}, title),
        ),
        code ? h('code', { title: code.trim() }, code.trim()) : null,
        h('p', {}, (evidence ?? '') + likely),
        advice ? h('p', { class: 'act' }, advice) : null,
    );
}

export function cards(host, app) {
    const list = (app.base ? app.base.findings(app) : app.model.meta.findings).slice(0, MOST);
    host.hidden = !list.length;
    show(
        host,
        list.map((finding) => card(finding, () => app.openFinding(finding))),
    );
}

/** What the run was, and what kind its numbers are. */
export function title(app) {
    const { meta, has } = app.model;
    const command = document.getElementById('command');
    const badge = document.getElementById('badge');
    put(command, meta.command || meta.trace || '');
    command.title = meta.command || '';
    document.title = `${app.base ? 'Comparison' : 'Report'}: ${(meta.command || meta.trace || 'tidemark').slice(0, 80)}`;
    badge.hidden = !has.heap;
    badge.className = `tag ${meta.sampled ? 'sampled' : 'exact'}`;
    put(badge, meta.sampled ? 'sampled' : 'exact');
    badge.title = meta.sampled
        ? 'allocations were sampled: numbers of memory are estimates'
        : 'every allocation and free was recorded';
}

/** That there is memory besides what the page is of. */
function spacesSaid(app) {
    const { spaces } = app.model.meta;
    const own = spaces.find((s) => s.shown);
    const others = spaces.filter((s) => !s.shown && s.peak != null);
    if (!own || !others.length) return null;
    const one = (s) => {
        const said = `${s.name} ${bytes(s.peak)}`;
        return app.spaces.names.includes(s.name)
            ? h('button', { class: 'link', onclick: () => app.showSpace(s.name) }, said)
            : said;
    };
    const list = others.flatMap((s, i) => (i ? [', ', one(s)] : [one(s)]));
    return [`Memory here is that of ${own.name}. Peaks of other spaces, each for itself: `, ...list, '.'];
}

/** What the trace lacks, and who was recorded: never hidden. */
export function notices(host, app) {
    const list = [
        app.model.meta.health,
        app.model.meta.left_out,
        app.model.meta.asked && `Narrowed to: ${app.model.meta.asked}`,
    ]
        .flat()
        .filter((text) => typeof text === 'string' && text);
    const spaces = spacesSaid(app);
    host.hidden = !list.length && !spaces;
    show(
        host,
        spaces ? h('p', {}, spaces) : null,
        list.map((text) => h('p', {}, text)),
    );
}
