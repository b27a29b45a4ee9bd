// start - a browser: the one that TIDEMARK_BROWSER names, which many tests share, the Firefox that
// FIREFOX names, or a Chromium of our own.
// `node start.mjs` starts one to be shared, says its address, and ends it when its input ends.

import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { startFirefox } from './firefox.mjs';

const { chromium } = createRequire(new URL('../../web/package.json', import.meta.url))(
    'playwright-core',
);

export const PATIENCE_MS = 60000;

/** So that a browser starts fast, and asks nobody for anything. */
export const FLAGS = [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
];

const options = () => ({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [...FLAGS, '--disable-dev-shm-usage'],
    timeout: PATIENCE_MS,
});

export function start() {
    if (process.env.FIREFOX) return startFirefox(process.env.FIREFOX);
    const shared = process.env.TIDEMARK_BROWSER;
    return shared ? chromium.connect(shared, { timeout: PATIENCE_MS }) : chromium.launch(options());
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
    const server = await chromium.launchServer(options());
    console.log(server.wsEndpoint());
    process.stdin.resume();
    process.stdin.on('end', () => server.close().then(() => process.exit(0)));
}
