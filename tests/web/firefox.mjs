// firefox - Firefox as it is, by WebDriver BiDi: as much of playwright's way to use a browser as the
// tests of the page need. (Playwright's own way wants a newer one than the ESR.)

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const PATIENCE_MS = 60000;
const PREFS = {
    'datareporting.policy.dataSubmissionEnabled': false,
    'app.update.enabled': false,
    'browser.shell.checkDefaultBrowser': false,
    'network.captive-portal-service.enabled': false,
    'network.connectivity-service.enabled': false,
    'services.settings.server': 'data:,#none',
    'browser.safebrowsing.malware.enabled': false,
    'browser.safebrowsing.phishing.enabled': false,
    'browser.newtabpage.enabled': false,
};
// Firefox says so even where the page has caught the error, and shows it
const CAUGHT = 'Failed to read data from the ReadableStream';
const KEYS = {
    Backspace: '\uE003',
    Enter: '\uE007',
    Escape: '\uE00C',
    Tab: '\uE004',
    ArrowLeft: '\uE012',
    ArrowUp: '\uE013',
    ArrowRight: '\uE014',
    ArrowDown: '\uE015',
    End: '\uE010',
    Home: '\uE011',
    PageUp: '\uE00E',
    PageDown: '\uE00F',
};

/** The commands and events of one browser. */
class Session {
    constructor(socket) {
        Object.assign(this, { socket, waiting: new Map(), listeners: [], last: 0 });
        socket.onmessage = ({ data }) => this.take(JSON.parse(data));
        socket.onclose = () => {
            for (const { reject } of this.waiting.values()) reject(new Error('Firefox has gone'));
        };
    }

    take(message) {
        const { resolve, reject } = this.waiting.get(message.id) ?? {};
        this.waiting.delete(message.id);
        if (message.type === 'success') resolve(message.result);
        else if (message.type === 'error') reject?.(new Error(message.message));
        else for (const listen of this.listeners) listen(message);
    }

    send(method, params = {}) {
        const id = ++this.last;
        this.socket.send(JSON.stringify({ id, method, params }));
        return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    }
}

const OF_ROLE = { button: 'button:not([role])', spinbutton: 'input[type=number]' };
const ofRole = (role) => OF_ROLE[role] ?? `[role=${role}]`;

/** What a selector of playwright asks for: CSS, and at its end the text that is to be in it. */
function meant(selector) {
    const [, css, has] = /^(.*?)(?::has-text\("([^"]*)"\))?$/.exec(selector);
    return { css, has };
}

class Locator {
    constructor(tab, find) {
        Object.assign(this, { tab, find });
    }
    /** Calls fn(elements, arg) in the page. */
    on(fn, arg) {
        const words = JSON.stringify([this.find, arg]);
        return this.tab.run(`(${FIND})(...${words}, ${fn})`);
    }
    count = () => this.on((all) => all.length);
    isVisible = () => this.on(([e]) => Boolean(e?.checkVisibility()));
    isHidden = async () => !(await this.isVisible());
    textContent = () => this.on(([e]) => e.textContent);
    innerText = () => this.on(([e]) => e.innerText);
    allInnerTexts = () => this.on((all) => all.map((e) => e.innerText));
    inputValue = () => this.on(([e]) => e.value);
    evaluateAll = (fn, arg) => this.on(fn, arg);
    getAttribute = (name) => this.on(([e], n) => e.getAttribute(n), name);
    boundingBox = () => this.on(([e]) => {
        const { x, y, width, height } = e.getBoundingClientRect();
        return { x, y, width, height };
    });
    focus = () => this.on(([e]) => e.focus());
    getByRole = (role) => new Locator(this.tab, { css: `${this.find.css} ${ofRole(role)}` });
    first = () => this.nth(0);
    nth = (n) => new Locator(this.tab, { ...this.find, n });
    async middle() {
        await this.on(([e]) => e.scrollIntoView({ block: 'nearest' }));
        const { x, y, width, height } = await this.boundingBox();
        return [x + width / 2, y + height / 2];
    }
    async hover() {
        await this.tab.mouse.move(...(await this.middle()));
    }
    async click() {
        await this.tab.mouse.click(...(await this.middle()));
    }
    /** By keys: what a script puts into a field is no change that the page is told of. */
    async fill(value) {
        await this.on(([e]) => e.select());
        await this.tab.type(value ? [...value] : [KEYS.Backspace]);
    }
    async press(key) {
        await this.focus();
        await this.tab.keyboard.press(key);
    }
}

/** In the page: the elements that a locator means, given to what is to be done with them. */
const FIND = `({ css, has, name, n }, arg, work) => {
    const nameOf = (e) => (e.getAttribute('aria-label') ?? e.textContent).trim();
    let all = [...document.querySelectorAll(css)];
    if (has) all = all.filter((e) => e.textContent.toLowerCase().includes(has.toLowerCase()));
    if (name) all = all.filter((e) => nameOf(e).includes(name));
    return work(n === undefined ? all : all.slice(n, n + 1), arg);
}`;

class Tab {
    constructor(session, context, settings) {
        Object.assign(this, { session, context, settings, heard: {} });
        session.listeners.push((message) => this.hear(message));
        const act = (...actions) => this.point(actions);
        const move = (x, y) => ({ type: 'pointerMove', x: Math.round(x), y: Math.round(y) });
        const down = { type: 'pointerDown', button: 0 };
        const up = { type: 'pointerUp', button: 0 };
        this.mouse = {
            move: (x, y) => act(move(x, y)),
            down: () => act(down),
            up: () => act(up),
            click: (x, y) => act(move(x, y), down, up),
            dblclick: (x, y) => act(move(x, y), down, up, down, up),
        };
        this.keyboard = {
            press: (key) => this.type([KEYS[key] ?? key]),
            type: (text) => this.type([...text]),
        };
    }

    hear({ method, params }) {
        const mine = params.context === this.context || params.source?.context === this.context;
        if (!mine || params.text?.startsWith(CAUGHT)) return;
        if (method === 'network.beforeRequestSent') this.hearRequest(params.request.url);
        else if (params.type === 'javascript') this.tell('pageerror', { stack: params.text });
        else if (method === 'log.entryAdded')
            this.tell('console', {
                type: () => (params.level === 'warn' ? 'warning' : params.level),
                text: () => params.text,
            });
    }
    /** That of the page itself is not always told: goto has. What is in a page asks nobody. */
    hearRequest(url) {
        if (/^(data|about):/.test(url) || url.replace(/#.*/, '') === this.asked) return;
        this.tell('request', { url: () => url });
    }
    tell(name, what) {
        this.heard[name]?.forEach((listen) => listen(what));
    }
    on(name, listen) {
        (this.heard[name] ??= []).push(listen);
    }
    removeAllListeners() {
        this.heard = {};
    }

    point(actions) {
        return this.act({ type: 'pointer', id: 'mouse', actions });
    }
    type(keys) {
        const actions = keys.flatMap((value) => [
            { type: 'keyDown', value },
            { type: 'keyUp', value },
        ]);
        return this.act({ type: 'key', id: 'keys', actions });
    }
    act(source) {
        return this.session.send('input.performActions', {
            context: this.context,
            actions: [source],
        });
    }

    /** The value of an expression. */
    async run(expression) {
        const done = await this.session.send('script.evaluate', {
            expression: `(async () => JSON.stringify({ value: await ${expression} }, ${PLAIN}))()`,
            awaitPromise: true,
            target: { context: this.context },
        });
        if (done.type === 'exception') throw new Error(done.exceptionDetails.text);
        return restored(JSON.parse(done.result.value).value);
    }
    evaluate(fn, arg) {
        return this.run(`(${fn})(${JSON.stringify(arg) ?? 'undefined'})`);
    }
    async waitForFunction(fn, arg, { timeout = PATIENCE_MS } = {}) {
        for (const end = Date.now() + timeout; Date.now() < end; await pause(20))
            if (await this.evaluate(fn, arg)) return;
        throw new Error(`it did not come true: ${fn}`);
    }

    /** A tab behind another one draws ever more seldom, at last once in minutes. */
    bringToFront() {
        return this.session.send('browsingContext.activate', { context: this.context });
    }
    goto(url) {
        this.asked = url.replace(/#.*/, '');
        this.tell('request', { url: () => url });
        return this.session.send('browsingContext.navigate', {
            context: this.context,
            url,
            wait: 'complete',
        });
    }
    setViewportSize(viewport) {
        const { context } = this;
        return this.session.send('browsingContext.setViewport', { context, viewport });
    }
    async emulateMedia(wanted) {
        await (await this.settings()).evaluate(prefer, wanted);
    }

    locator(selector) {
        return new Locator(this, meant(selector));
    }
    getByRole(role, { name, checked, selected } = {}) {
        const state = checked ? '[aria-checked=true]' : selected ? '[aria-selected=true]' : '';
        return new Locator(this, { css: ofRole(role) + state, name });
    }
    textContent = (css) => this.locator(css).textContent();
    innerText = (css) => this.locator(css).innerText();
    inputValue = (css) => this.locator(css).inputValue();
    $$eval = (css, fn, arg) => this.locator(css).evaluateAll(fn, arg);
    getAttribute = (css, name) => this.locator(css).getAttribute(name);
    click = (css) => this.locator(css).click();
    hover = (css) => this.locator(css).hover();
    focus = (css) => this.locator(css).focus();
    selectOption = (css, value) =>
        this.locator(css).on(([e], v) => {
            e.value = v;
            e.dispatchEvent(new Event('change', { bubbles: true }));
        }, value);
}

/**
 * In a page of Firefox itself: the medium and the theme of every tab. There is no command for them yet;
 * what is not said stays.
 */
function prefer({ media, colorScheme }) {
    for (const { gBrowser } of Services.wm.getEnumerator('navigator:browser'))
        for (const { browsingContext: tab } of gBrowser.browsers) {
            if (media !== undefined) tab.mediumOverride = media ?? '';
            if (colorScheme !== undefined) tab.prefersColorSchemeOverride = colorScheme ?? 'none';
        }
}

/** In the page: what JSON cannot say, and what it means here. */
const NOTHING = '(undefined)';
const PLAIN = `(_, v) => (v === undefined ? '${NOTHING}' : ArrayBuffer.isView(v) ? [...v] : v)`;

function restored(value) {
    if (value === NOTHING) return undefined;
    if (Array.isArray(value)) return value.map(restored);
    if (!value || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, restored(v)]));
}

/** Starts it; as a browser of playwright it has newPage and close. */
export async function startFirefox(path) {
    const profile = mkdtempSync(join(tmpdir(), 'tidemark-firefox-'));
    const line = ([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});\n`;
    const prefs = Object.entries(PREFS).map(line);
    writeFileSync(join(profile, 'user.js'), prefs.join(''));
    const words = ['--headless', '--remote-debugging-port=0', '--no-remote'];
    words.push('--remote-allow-system-access', '--profile', profile);
    const child = spawn(path, words, { stdio: ['ignore', 'ignore', 'pipe'] });
    const gone = new Promise((done) => child.on('exit', done));
    const address = await new Promise((resolve, reject) => {
        let said = '';
        child.stderr.on('data', (bytes) => {
            said += bytes;
            const found = /listening on (ws:\/\/\S+)/.exec(said);
            if (found) resolve(found[1]);
        });
        child.on('exit', () => reject(new Error(`Firefox did not start: ${said}`)));
    });
    const socket = new WebSocket(`${address}/session`);
    await new Promise((done, failed) => Object.assign(socket, { onopen: done, onerror: failed }));
    const session = new Session(socket);
    await session.send('session.new', { capabilities: {} });
    await session.send('session.subscribe', {
        events: ['log.entryAdded', 'network.beforeRequestSent'],
    });
    const newTab = async (background) => {
        const wanted = { type: 'tab', background };
        const { context } = await session.send('browsingContext.create', wanted);
        return new Tab(session, context, settings);
    };
    let own;
    const settings = async () => {
        if (!own) await (own = await newTab(true)).goto('about:config');
        return own;
    };
    return {
        newPage: () => newTab(false),
        async close() {
            child.kill();
            await gone;
            rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
        },
    };
}
