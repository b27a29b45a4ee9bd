// browser - pages in a real browser: made, opened, watched for noise and requests.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { page } from './pack.mjs';
import { recording } from './recording.mjs';
import { PATIENCE_MS, start } from './start.mjs';

let browser;
let folder;
const template = () => readFileSync(process.env.TIDEMARK_PAGE, 'utf8');

before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tidemark-page-'));
    browser = await start();
});
after(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
});

let made = 0;

/** A page of recordings, as a path; `spoil` may change its text. */
export function write(runs, spoil = (html) => html) {
    const path = join(folder, `page${made++}.html`);
    writeFileSync(path, spoil(page(template(), ...runs)));
    return path;
}

/** A page of one made-up run. */
export const pageOf = (options) => write([recording(options)]);

const idle = []; // tabs that nobody uses: to make one takes longer than to read a page

/** Opens a page. noise: what the console said; requests: every address that was asked for. */
export async function open(path, { hash = '', width = 1280, height = 900, dark = false } = {}) {
    const tab = idle.pop() ?? (await browser.newPage());
    await tab.bringToFront();
    await tab.setViewportSize({ width, height });
    await tab.emulateMedia({ media: null, colorScheme: dark ? 'dark' : 'light' });
    const [noise, requests] = [[], []];
    tab.on(
        'console',
        (message) => ['error', 'warning'].includes(message.type()) && noise.push(message.text()),
    );
    tab.on('pageerror', (error) => noise.push(error.stack));
    tab.on('request', (request) => requests.push(request.url()));
    await tab.goto(path.includes('://') ? `${path}${hash}` : `file://${path}${hash}`);
    await tab.waitForFunction(() => document.documentElement.dataset.ready, null, {
        timeout: PATIENCE_MS,
    });
    return { tab, noise, requests, close: () => leave(tab) };
}

async function leave(tab) {
    tab.removeAllListeners();
    await tab.goto('about:blank');
    idle.push(tab);
}

/** After the next frame, and when the pointer has rested. */
export async function settled(tab) {
    await tab.evaluate(
        () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
}

/** The state after a change made from inside. */
export async function set(tab, change) {
    await tab.evaluate((c) => tidemark.set(c), change);
    await settled(tab);
}

export const state = (tab) => tab.evaluate(() => ({ ...tidemark.state }));

/** Shows a view. */
export async function look(tab, id) {
    await tab.click(`#tab-${id}`);
    await settled(tab);
}

/** Shows every view in turn. */
export async function everyView(tab, each = async () => {}) {
    for (const id of await tab.evaluate(() => tidemark.names)) {
        await look(tab, id);
        await each(id);
    }
}
