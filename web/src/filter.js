// filter - one process, rank, thread or label alone; the menu that offers them, steps as windows, and
// whose memory it is: the host's, or a device's.

import { h, show } from './dom.js';
import { time } from './format.js';

const MOST = 400;

/** Which leaves a choice lets through, or null for all. */
export function testOf(model, { only, label }) {
    const { leaves, meta } = model;
    const index = Number(only.slice(1));
    const processOf = (l) => meta.threads[leaves.thread[l]]?.process;
    const tests = [];
    if (only[0] === 't') tests.push((l) => leaves.thread[l] === index);
    if (only[0] === 'p') tests.push((l) => processOf(l) === index);
    if (only[0] === 'r') tests.push((l) => meta.processes[processOf(l)]?.rank === index);
    if (label) {
        const fits = meta.labels.map((pairs) =>
            Object.entries(pairs).some(([k, v]) => `${k}=${v}` === label),
        );
        tests.push((l) => fits[leaves.labels[l]] === true);
    }
    return tests.length ? (l) => tests.every((test) => test(l)) : null;
}

/** The same choice in another run: who has the same name there. */
export function testLike(other, model, { only, label }) {
    const index = Number(only.slice(1));
    const names = (list, name) => new Set(list.flatMap((one, i) => (one.name === name ? [i] : [])));
    const { leaves, meta } = other;
    const threads = only[0] === 't' ? names(meta.threads, model.meta.threads[index]?.name) : null;
    const processes =
        only[0] === 'p' ? names(meta.processes, model.meta.processes[index]?.name) : null;
    const rest = testOf(other, { only: only[0] === 'r' ? only : '', label });
    if (!threads && !processes) return rest;
    return (l) =>
        (rest?.(l) ?? true) &&
        (threads?.has(leaves.thread[l]) ?? processes.has(meta.threads[leaves.thread[l]]?.process));
}

const threadIn = (model, thread) =>
    thread.name ? `thread ${thread.name}` : `${model.threadName(thread)} ${thread.tid}`;

/** In words, for what is said about a part; '' for all. */
export function nameOf(model, { only, label }) {
    const { processes, threads } = model.meta;
    const index = Number(only.slice(1));
    const names = [];
    if (only[0] === 't' && threads[index])
        names.push(threadIn(model, threads[index]));
    if (only[0] === 'p' && processes[index])
        names.push(`${processes[index].name} ${processes[index].pid}`);
    if (only[0] === 'r') names.push(`rank ${index}`);
    if (label) names.push(label);
    return names.join(', ');
}

const options = (name, list) =>
    list.length
        ? h(
              'optgroup',
              { label: name },
              list.slice(0, MOST).map(([value, text]) => h('option', { value }, text)),
          )
        : null;

function whoOptions(model) {
    const { processes, threads } = model.meta;
    const several = processes.length > 1;
    const ranks = [...new Set(processes.map((p) => p.rank).filter((r) => r != null))].sort(
        (a, b) => a - b,
    );
    return [
        h('option', { value: '' }, several ? 'All processes' : 'All threads'),
        options(
            'Ranks',
            ranks.map((r) => [`r${r}`, `rank ${r}`]),
        ),
        options(
            'Processes',
            several ? processes.map((p, i) => [`p${i}`, `${p.name} ${p.pid}`]) : [],
        ),
        options(
            'Threads',
            threads.length > processes.length
                ? threads.map((t, i) => [`t${i}`, `${model.threadName(t)} ${t.tid}`])
                : [],
        ),
    ];
}

/** Every pair key=value that blocks were allocated under. */
const labelsOf = (meta) => [
    ...new Set(meta.labels.flatMap((pairs) => Object.entries(pairs).map(([k, v]) => `${k}=${v}`))),
];

/** The steps of all loops as stretches of seconds. */
export function stepsOf(meta) {
    const several = new Set(meta.steps.map((loop) => loop.process)).size > 1;
    return meta.steps.flatMap(({ name, process, began, ends }) => {
        const who = meta.processes[process];
        const whose = several && who ? ` of ${who.name} ${who.pid}` : '';
        let start = began ?? who?.start ?? 0;
        let end = 0;
        return ends.map((delta, i) => {
            end += delta;
            const step = { name: `${name || 'step'} ${i + 1}${whose}`, start: start / 1e6, end: end / 1e6 };
            start = end;
            return step;
        });
    });
}

/** The menus; those without a choice are not shown. `app.set` gets what is chosen. */
export class Filter {
    constructor(host, app) {
        const { meta } = app.model;
        this.app = app;
        this.steps = stepsOf(meta);
        this.who = h(
            'select',
            {
                id: 'only',
                'aria-label': 'process or thread',
                onchange: () => app.set({ only: this.who.value }),
            },
            whoOptions(app.model),
        );
        const labels = labelsOf(meta);
        this.label = h(
            'select',
            { 'aria-label': 'label', onchange: () => app.set({ label: this.label.value }) },
            h('option', { value: '' }, 'Any label'),
            labels.slice(0, MOST).map((text) => h('option', { value: text }, text)),
        );
        this.space = this.spaceMenu(app.spaces.names);
        this.step = this.steps.length > MOST ? this.stepField() : this.stepMenu();
        show(
            host,
            app.spaces.names.length > 1 ? this.space : null,
            meta.processes.length > 1 || meta.threads.length > 1 ? this.who : null,
            labels.length ? this.label : null,
            this.steps.length ? this.step : null,
        );
    }

    spaceMenu(names) {
        const select = h(
            'select',
            {
                'aria-label': 'memory of',
                title: 'whose memory is shown: the host’s, or that of a device or a pool',
                onchange: () => this.app.showSpace(select.value),
            },
            names.map((name) => h('option', { value: name }, `Memory of ${name}`)),
        );
        return select;
    }

    stepMenu() {
        return h(
            'select',
            { 'aria-label': 'step', onchange: () => this.takeStep(this.step.value) },
            h('option', { value: '' }, 'Any step'),
            this.steps.map((s, i) =>
                h('option', { value: String(i) }, `${s.name}, ${time(s.end - s.start)}`),
            ),
        );
    }

    /** Where there are too many for a menu, their number is asked for. */
    stepField() {
        return h('input', {
            type: 'number',
            class: 'step',
            min: '1',
            max: String(this.steps.length),
            placeholder: `Step, 1 – ${this.steps.length}`,
            'aria-label': `step, from 1 to ${this.steps.length}`,
            onchange: () => this.takeStep(this.step.value && String(this.step.value - 1)),
        });
    }

    takeStep(value) {
        const step = this.steps[Number(value)];
        if (value === '' || !step) this.app.setWindow(-1, this.app.model.cells - 1);
        else this.app.setTimes(step.start, step.end);
    }

    update({ only, label }) {
        this.who.value = only;
        this.label.value = label;
        this.space.value = this.app.model.spaceName;
        const { from, to } = this.app.state;
        const at = this.steps.findIndex(
            (s) => this.app.model.quietAt(s.start) === from && this.app.model.quietAt(s.end) === to,
        );
        const field = this.step.type === 'number';
        if (document.activeElement !== this.step || !field)
            this.step.value = at < 0 || this.app.isWhole() ? '' : String(field ? at + 1 : at);
    }
}
