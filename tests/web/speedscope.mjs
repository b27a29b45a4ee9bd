// node speedscope.mjs FOLDER FILE - opens a file in speedscope, which is in FOLDER, and says what it
// shows as JSON: the title, and the rows of its tables: what there is to choose from (number, name, sum)
// and functions (total, self, name), the largest totals first.

import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, normalize } from 'node:path';
import { PATIENCE_MS, start } from './start.mjs';

const [folder, file] = process.argv.slice(2);
const types = { css: 'text/css', html: 'text/html', js: 'text/javascript', json: 'application/json' };

const server = createServer((request, response) => {
    const path = new URL(request.url, 'http://localhost').pathname;
    const from = path === '/given.json' ? file : join(folder, normalize(path));
    if (!existsSync(from) || !statSync(from).isFile()) {
        response.writeHead(404).end();
        return;
    }
    response.writeHead(200, { 'Content-Type': types[path.split('.').pop()] ?? 'text/plain' });
    createReadStream(from).pipe(response);
});
await new Promise((done) => server.listen(0, '127.0.0.1', done));

const browser = await start();
try {
    const tab = await browser.newPage({ viewport: { width: 1280, height: 4000 } });
    const noise = [];
    tab.on('pageerror', (error) => noise.push(error.stack));
    const origin = `http://127.0.0.1:${server.address().port}`;
    await tab.goto(`${origin}/index.html#profileURL=${encodeURIComponent(`${origin}/given.json`)}`);
    await tab.getByText('Sandwich').click({ timeout: PATIENCE_MS });
    await tab.getByText('Symbol Name').waitFor({ timeout: PATIENCE_MS });
    await tab.getByText('Total', { exact: true }).click();
    const seen = await tab.evaluate(() => ({
        title: document.title,
        rows: [...document.querySelectorAll('table tr')]
            .map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent))
            .filter((cells) => cells.length),
    }));
    console.log(JSON.stringify({ ...seen, noise }));
} finally {
    await browser.close();
    server.close();
}
