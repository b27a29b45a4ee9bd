// closer - the data of a page that is served: asked for over HTTP, finer where the window is narrow,
// and again while the recording goes on. A page from a file has its data in it, and asks nobody.

import { byId, put } from './dom.js';
import { unpackBytes } from './decode.js';
import { moment } from './format.js';
import { Model } from './model.js';

const FEW = 20; // quiet moments in a window that is narrow
const LEAST = 120e-6; // seconds: there is nothing finer
const REST_MS = 300;

/** One answer: the model, its version, and whether newer data will come. */
export async function ask(address, signal, beside) {
    let answer;
    try {
        answer = await fetch(address, { signal, cache: 'no-store' });
    } catch (error) {
        if (signal?.aborted) throw error;
        throw new Error('tidemark does not answer any more', { cause: error });
    }
    if (!answer.ok) throw new Error((await answer.text()).replace(/\.$/, ''));
    const bytes = await answer.arrayBuffer();
    return {
        model: new Model(await unpackBytes(() => bytes), beside),
        version: Number(answer.headers.get('Tidemark-Version')),
        live: answer.headers.get('Tidemark-Live') === '1',
    };
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

export class Closer {
    /** @param {import('./app.js').App} app @param first an address, and what `ask` gave for it */
    constructor(app, first) {
        const { address, beside, live, version } = first;
        Object.assign(this, { app, address, beside, live, version });
        this.whole = first.model;
        this.stretch = null; // what was asked for last
        this.tell();
        if (this.live) this.follow();
        this.look();
    }

    /** Another space of memory is shown: what was asked for it is at an address of its own. */
    turn({ model, address, beside }) {
        this.stop?.abort();
        Object.assign(this, { address, beside, whole: model, stretch: null });
        this.tell();
        if (this.live) this.follow();
        this.look();
    }

    /** The window has changed, or may have: when it rests, is there more to be asked for? */
    look() {
        clearTimeout(this.resting);
        this.resting = setTimeout(() => this.decide(), REST_MS);
    }

    decide() {
        const { app } = this;
        if (app.timeline.dragging) return;
        const { from, to } = app.window;
        const want = app.isWhole() ? null : this.wanted(from, to);
        if (want !== undefined) this.go(want);
    }

    /** The stretch that a window needs; null: the whole run; undefined: what is shown does. */
    wanted(from, to) {
        const { model } = this.app;
        const [start, end] = this.stretch ?? [0, Infinity];
        const inside = from >= start && to <= end;
        const span = to - from;
        if (inside && count(model, from, to) >= FEW) return undefined;
        if (!inside && count(this.whole, from, to) >= FEW) return null;
        if (span < LEAST || (inside && this.stretch && end - start <= 2.2 * span)) return undefined;
        return [Math.max(0, from - span / 2), Math.min(model.end, to + span / 2)];
    }

    go(stretch) {
        if (String(stretch) === String(this.stretch)) return;
        this.stretch = stretch;
        this.stop?.abort();
        if (this.live) this.follow();
        else if (stretch) this.fetchOnce();
        else this.show(this.whole);
    }

    /** The address of the stretch that is wanted. */
    get wants() {
        if (!this.stretch) return this.address;
        const [from, to] = this.stretch.map((t) => Math.round(t * 1e6));
        return `${this.address}&from=${from}&to=${to}`;
    }

    async fetchOnce() {
        const { signal } = (this.stop = new AbortController());
        this.tell('asking for finer data …');
        try {
            this.show((await ask(this.wants, signal, this.beside)).model);
        } catch (error) {
            if (!signal.aborted) this.tell(`no finer data: ${error.message}`);
        }
    }

    /** As long as the recording goes on: each answer that is newer than the last. */
    async follow() {
        const { signal } = (this.stop = new AbortController());
        try {
            for (let newer = this.stretch || this.beside ? 0 : this.version; this.live; newer = this.version) {
                const next = await ask(`${this.wants}&newer=${newer}`, signal, this.beside);
                while (this.app.timeline.dragging) await pause(REST_MS);
                if (signal.aborted) return;
                Object.assign(this, { live: next.live, version: next.version });
                this.show(next.model);
                if (!this.live && this.stretch)
                    this.whole = (await ask(this.address, signal, this.beside)).model;
            }
        } catch (error) {
            if (signal.aborted) return;
            this.live = false;
            this.lost = error.message;
            this.tell();
        }
    }

    show(model) {
        if (!model.finer) this.whole = model;
        if (!model.finer) this.app.spaces.renew(model);
        this.app.replace(model);
        this.tell();
    }

    /** What is shown, and whether more is to come. */
    tell(words) {
        const [start, end] = this.app.model.stretch;
        const when = (t) => moment(t, end - start);
        const closer = this.app.isCloser && `shown closer: ${when(start)} – ${when(end)}`;
        const tag = byId('live');
        put(byId('closer'), words ?? (closer || ''));
        this.wasLive ||= this.live;
        tag.hidden = !this.wasLive;
        tag.className = `tag ${this.live ? 'measured' : this.lost ? 'lost' : ''}`;
        put(tag, this.live ? 'recording …' : this.lost ? 'not up to date' : 'has ended');
        tag.title = this.lost ? `${this.lost}: this is what was known last` : '';
    }
}

/** How many quiet moments lie in a window. */
const count = (model, from, to) =>
    model.quiet.filter((e) => model.edges[e] > from && model.edges[e] <= to).length;
