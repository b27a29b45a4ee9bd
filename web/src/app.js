// app - one state, in the address; every part of the page is a function of it.

import { byId, copy, h, mark, put, show } from './dom.js';
import { carry, scrolls } from './carry.js';
import { inUnit, moment, percent, plural, share, signed, time } from './format.js';
import { cards, notices, sentence, title } from './first.js';
import { Figures } from './figures.js';
import { Filter, nameOf, testLike, testOf } from './filter.js';
import { MEASURES, measuresOf } from './measures.js';
import { amount, literal, search } from './search.js';
import { forgetColours } from './paint.js';
import { listenToKeys } from './keys.js';
import * as address from './state.js';
import { Sums } from './sums.js';
import { Timeline } from './timeline.js';
import { viewsOf } from './views.js';

const REST_MS = 120;

export class App {
    /**
     * @param {import('./model.js').Model} model @param base what it is compared with, or null
     * @param {import('./spaces.js').Spaces} spaces whose memory can be looked at
     */
    constructor(model, base, spaces) {
        Object.assign(this, { base, spaces });
        this.take(model);
        this.state = this.readAddress();
    }

    take(model) {
        this.model = model;
        this.sums = new Sums(model);
        this.totalsOfRun = this.sums.totals(-1, model.cells - 1);
        this.measures = measuresOf(model);
        this.views = viewsOf(this);
        this.names = this.views.map((v) => v.id);
        this.match = null;
    }

    readAddress(hash = location.hash) {
        const state = address.read(hash, this.model, this.names, this.measures);
        return { ...state, space: this.spaceShown };
    }

    start() {
        this.build();
        listenToKeys(this);
        window.addEventListener('popstate', () => this.followAddress());
        window.addEventListener('beforeprint', () => this.usePaper(true));
        window.addEventListener('afterprint', () => this.usePaper(false));
    }

    /** Other data of the same run in the place of what is shown; what is looked at stays. */
    replace(model, base = this.base) {
        const state = carry(this.state, this.model, model, this.isWhole());
        const scrolled = scrolls(byId('views'));
        this.timeline.close();
        this.base = base;
        this.take(model);
        Object.assign(this.state, state, { space: this.spaceShown });
        if (!this.names.includes(this.state.view)) this.state.view = this.names[0];
        if (!this.measures.includes(this.state.measure))
            this.state.measure = this.measures[0] ?? '';
        this.build();
        scrolled.restore(byId('views'));
    }

    build() {
        this.buildMeasures();
        this.buildViews();
        this.buildTools();
        this.filter = new Filter(byId('filters'), this);
        title(this);
        sentence(byId('headline'), this);
        notices(byId('notices'), this);
        cards(byId('findings'), this);
        this.applyFilter();
        this.timeline = new Timeline(byId('timeline'), byId('readout'), this);
        this.render();
        this.timeline.draw();
    }

    buildMeasures() {
        const button = (id) => {
            const { name, tip } = MEASURES[id];
            return h(
                'button',
                {
                    id: `measure-${id}`,
                    role: 'radio',
                    title: tip,
                    onclick: () => this.set({ measure: id }),
                },
                h('span', {}, name),
                h('b', {}, '–'),
                h('small', {}),
            );
        };
        byId('measures').hidden = !this.measures.length;
        byId('measures').style.setProperty('--n', String(this.measures.length));
        byId('measures').onkeydown = (ev) => this.stepMeasure(ev);
        show(byId('measures'), this.measures.map(button));
    }

    /** Arrow keys inside the radio group, as in any other. */
    stepMeasure(ev) {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[ev.key];
        if (!by) return;
        ev.preventDefault();
        ev.stopPropagation();
        const n = this.measures.length;
        const next = this.measures[(this.measures.indexOf(this.state.measure) + by + n) % n];
        this.set({ measure: next });
        byId(`measure-${next}`).focus();
    }

    buildViews() {
        show(
            byId('tabs'),
            this.views.map(({ id, name }, i) =>
                h(
                    'button',
                    {
                        id: `tab-${id}`,
                        role: 'tab',
                        title: `key ${i + 1}`,
                        'aria-controls': `view-${id}`,
                        onclick: () => this.set({ view: id }),
                    },
                    name,
                ),
            ),
        );
        show(byId('views'));
        for (const view of this.views) {
            view.host = h('section', {
                id: `view-${view.id}`,
                role: 'tabpanel',
                'aria-labelledby': `tab-${view.id}`,
                hidden: true,
            });
            byId('views').append(view.host);
        }
    }

    /** A view is made when it is first looked at. */
    get view() {
        const view = this.views.find((v) => v.id === this.state.view);
        view.made ??= new view.View(view.host, this);
        return view.made;
    }

    buildTools() {
        let wait;
        byId('q').oninput = () => {
            clearTimeout(wait);
            wait = setTimeout(() => this.set({ q: byId('q').value }), 60);
        };
        byId('theme').onclick = () => this.switchTheme();
        byId('link').onclick = (ev) => copy(location.href, ev.currentTarget);
        byId('help').onclick = () => byId('keys').showModal();
        byId('all').onclick = () => this.setWindow(-1, this.model.cells - 1);
        byId('topeak').onclick = () => this.aroundPeak();
        byId('stack').hidden =
            !this.model.ofHost ||
            this.model.series.filter((s) => s.of === 'process' && s.name === 'rss').length < 2;
        byId('stack').onclick = () => this.set({ stack: !this.state.stack });
        this.showKeys();
        byId('q').hidden = !this.measures.length;
        byId('topeak').hidden = !this.model.has.heap;
    }

    /** What the timeline does not draw needs no key. */
    showKeys() {
        const { has } = this.model;
        const there = {
            rss: this.model.ofHost && this.model.seriesOf('run', 'rss'),
            pss: this.model.ofHost && this.model.seriesOf('run', 'pss'),
            heap: has.heap,
            mapped: has.maps,
            other: this.base,
            python: has.cpu,
            native: has.cpu,
            kernel: has.cpu,
        };
        for (const [name, is] of Object.entries(there))
            document.querySelector(`.key.${name}`).hidden = !is;
        put(document.querySelector('.key.heap'), this.model.ofHost ? 'heap' : this.model.spaceName);
    }

    switchTheme(to) {
        const root = document.documentElement;
        const dark = root.dataset.theme
            ? root.dataset.theme === 'dark'
            : matchMedia('(prefers-color-scheme: dark)').matches;
        root.dataset.theme = to ?? (dark ? 'light' : 'dark');
        this.redraw();
    }
    redraw() {
        forgetColours();
        this.timeline.draw();
        for (const view of this.views) view.made?.forget?.();
        this.render();
    }
    usePaper(on) {
        const root = document.documentElement;
        if (on) this.screenTheme = root.dataset.theme ?? '';
        if (on) root.dataset.theme = 'light';
        else if (this.screenTheme) root.dataset.theme = this.screenTheme;
        else delete root.dataset.theme;
        document.body.classList.toggle('paper', on); // before it is drawn: a canvas keeps its width
        this.redraw();
    }

    /** The space that is shown; '' for the one that the page begins with. */
    get spaceShown() {
        const { spaceName } = this.model;
        return spaceName === this.spaces.first ? '' : spaceName;
    }

    /** Looks at another space of memory; one that is not there is left alone. */
    async showSpace(name) {
        this.wantedSpace = name;
        if (name === this.model.spaceName) return;
        try {
            const found = await this.spaces.of(name);
            if (this.wantedSpace !== name) return; // another one was chosen meanwhile
            this.replace(found.model, found.base);
            this.closer?.turn(found);
        } catch (error) {
            put(byId('closer'), `memory of ${name} cannot be shown: ${error.message}`);
            this.filter.update(this.state);
        }
    }

    /** Every change comes here; what it means is drawn once per frame. */
    set(change) {
        Object.assign(this.state, change);
        if ('only' in change || 'label' in change) this.applyFilter();
        if ('only' in change || 'label' in change || 'stack' in change) this.timeline.draw();
        if (this.pending) return;
        this.pending = true;
        requestAnimationFrame(() => {
            this.pending = false;
            this.render();
        });
    }

    setWindow(a, b) {
        const { model, state } = this;
        if (!model.quiet.length) return;
        const to = Math.min(Math.max(b, model.quiet[0]), model.cells - 1);
        const from = Math.min(Math.max(a, -1), model.quietAfter(to, -1));
        if (from !== state.from || to !== state.to) this.set({ from, to });
    }
    /** The quiet moments nearest to two times, in seconds. */
    setTimes(a, b) {
        const from = a > 0 ? this.model.quietAt(a) : -1;
        const to = this.model.quietAt(b);
        this.setWindow(from, to > from ? to : this.model.quietAfter(from, 1));
    }
    moveWindow(startBy, endBy) {
        const { from, to } = this.state;
        this.setWindow(
            startBy ? this.model.quietAfter(from, startBy) : from,
            endBy ? this.model.quietAfter(to, endBy) : to,
        );
    }
    aroundPeak() {
        const { peakTime } = this.sums.totals(-1, this.model.cells - 1);
        this.setTimes(peakTime - this.model.end / 40, peakTime + this.model.end / 40);
        this.set({ measure: 'peak' });
    }
    isWhole() {
        return this.state.from === -1 && this.state.to === this.model.cells - 1;
    }
    /** The window in seconds. */
    get window() {
        const [from, to] = [
            this.model.timeOf(this.state.from),
            this.isWhole() ? this.model.end : this.model.timeOf(this.state.to),
        ];
        return { from, to, span: to - from };
    }

    /** The time that the timeline shows: where the window is in what is told finer, only that. */
    get extent() {
        const { model, window: w } = this;
        const [start, end] = model.stretch;
        const inside = model.finer && !this.isWhole() && w.from >= start && w.to <= end;
        return inside ? model.stretch : [0, model.end];
    }
    get isCloser() {
        return this.extent[1] - this.extent[0] < this.model.end;
    }

    applyFilter() {
        this.sums.filter(testOf(this.model, this.state));
        this.base?.sums.filter(testLike(this.base.model, this.model, this.state));
        for (const view of this.views) view.made?.forget?.();
    }

    get unit() {
        return MEASURES[this.state.measure]?.unit ?? 'bytes';
    }
    get format() {
        return inUnit[this.unit];
    }
    get measureName() {
        return MEASURES[this.state.measure]?.name ?? '';
    }
    /** How values of a measure are said. */
    words(measure) {
        const { unit, name } = MEASURES[measure];
        return { name: name.toLowerCase(), plain: inUnit[unit], signed: (v) => signed(unit, v) };
    }

    render() {
        const start = performance.now();
        this.figures = new Figures(this.sums, this.base, this.state);
        this.totals = this.figures.totals;
        this.applySearch();
        const summed = performance.now();
        this.showMeasures();
        this.showFrame();
        this.timeline.update();
        this.view.update(this.timeline.dragging);
        this.cost = { sums: summed - start, all: performance.now() - start };
        clearTimeout(this.resting);
        if (this.timeline.dragging)
            this.resting = setTimeout(() => this.view.update(false), REST_MS);
        clearTimeout(this.writing);
        this.writing = setTimeout(() => this.writeAddress(), REST_MS);
        this.closer?.look();
    }

    /** The pointer let go: what waited is drawn. */
    rest() {
        clearTimeout(this.resting);
        this.stepBack();
        this.view.update(false);
        this.closer?.look();
    }

    /** How far the peak of a sampled run may be off, for the whole of it. */
    get peakError() {
        const [error] = /±[\d.]+ %/.exec(this.model.meta.peak_heap?.basis ?? '') ?? [];
        return error && this.isWhole() ? `, ${error}` : '';
    }

    showMeasures() {
        const w = { ...this.window, error: this.peakError };
        for (const id of this.measures) {
            const button = byId(`measure-${id}`);
            const [, value, note] = button.children;
            mark(button, 'aria-checked', this.state.measure === id);
            button.tabIndex = this.state.measure === id ? 0 : -1;
            put(value, inUnit[MEASURES[id].unit](this.totals[id]));
            put(note, MEASURES[id].note(this.totals, w));
        }
    }

    showFrame() {
        const { state, window: w } = this;
        for (const { id, host } of this.views) {
            mark(byId(`tab-${id}`), 'aria-selected', state.view === id);
            host.hidden = state.view !== id;
        }
        if (byId('q').value !== state.q) byId('q').value = state.q;
        this.filter.update(state);
        const who = nameOf(this.model, state);
        const span = this.isWhole()
            ? `whole run, ${time(this.model.end)}`
            : `${moment(w.from, w.span)} – ${moment(w.to, w.span)} (${time(w.span)})`;
        put(byId('range'), who ? `${who}: ${span}` : span);
        byId('all').disabled = this.isWhole();
        mark(byId('stack'), 'aria-pressed', Boolean(state.stack));
        document.body.classList.toggle('stacked', state.stack);
        this.shadeSparks(w);
        if (!this.timeline.dragging) this.stepBack();
    }

    /**
     * What was said first makes room once one looks around; never while the pointer is down, as
     * things move.
     */
    stepBack() {
        const start = address.initial(this.model, this.names, this.measures);
        const looked = ['view', 'measure', 'from', 'to', 'q', 'zoom', 'only', 'label', 'space'].some(
            (key) => this.state[key] !== start[key],
        );
        document.body.classList.toggle('busy', looked);
    }

    /** Sparklines are of the whole run: the window is only shaded in them. */
    shadeSparks({ from, to }) {
        const { style } = byId('views');
        const part = (t) => `${((t / (this.model.end || 1)) * 100).toFixed(2)}%`;
        style.setProperty('--from', this.isWhole() ? '0%' : part(from));
        style.setProperty('--span', this.isWhole() ? '0%' : part(to - from));
    }

    applySearch() {
        const words = this.state.q.trim();
        if ((this.match?.words ?? '') !== words) this.match = search(this.model, words);
        put(byId('found'), words ? this.foundText() : '');
    }
    foundText() {
        const { sum, stacks } = amount(this.model, this.match, this.figures.values);
        if (!stacks) return 'nothing in this window';
        return `${this.format(sum)} · ${percent(share(sum, this.figures.sum))} · ${plural(stacks, 'stack')}`;
    }

    /** The address that says what is shown; null: it stands there. */
    unwritten() {
        const text = address.write(this.state, this.model, this.names, this.measures);
        return text === (location.hash || '#') ? null : text;
    }
    writeAddress() {
        const text = this.unwritten();
        if (text) history.replaceState(null, '', text);
    }
    /** One may come back before what was shown in between has been written. */
    async followAddress() {
        const { hash } = location;
        clearTimeout(this.writing);
        if (!this.unwritten()) return;
        await this.showSpace(this.spaces.named(address.spaceIn(hash)));
        this.state = this.readAddress(hash);
        this.applyFilter();
        this.timeline.draw();
        this.render();
    }

    /** What leads elsewhere is undone by the browser's way back. */
    remember() {
        this.writeAddress();
        history.pushState(null, '', location.href);
    }

    /** Opens what proves a finding. */
    openFinding(finding) {
        this.remember();
        const { view, measure, from, to, file, line, function: name } = finding;
        const change = { q: '', zoom: 0, only: '', label: '' };
        if (this.names.includes(view)) change.view = view;
        if (this.measures.includes(measure)) change.measure = measure;
        if (file) Object.assign(change, { file, line: line ?? 0 });
        if (change.view === 'source' && !this.model.source.has(file)) change.view = 'table';
        if (name && change.view === 'flame') change.q = literal(name);
        this.set(change);
        if (from == null && to == null) this.setWindow(-1, this.model.cells - 1);
        else this.setTimes((from ?? 0) / 1e6, (to ?? this.model.meta.duration) / 1e6);
    }

    /** Where more is to be seen of a row of a table. */
    openRow(row) {
        if (row.file && !row.only && this.model.source.has(row.file)) {
            this.openSource(row.file, row.line);
            return;
        }
        this.remember();
        if (row.only) this.set({ only: row.only });
        else
            this.set({
                view: 'flame',
                zoom: 0,
                q: literal(row.find ?? row.name),
            });
    }
    openSource(file, line) {
        this.remember();
        this.set({ view: 'source', file, line: line ?? 0 });
    }
}
