// build.mjs OUT.html - bundles the page into one file, the template that tidemark puts data into.
//
// Needs esbuild in node_modules (`tools/setup web`), and no network. The policy of the page names
// the script and the style by their hashes, so that nothing else in it can ever run.

import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

const MOST = 200_000; // bytes of script and style together
const MARKER = '<!--DATA-->';

const here = (path) => new URL(path, import.meta.url).pathname;
const hash = (text) => createHash('sha256').update(text).digest('base64');

async function bundle(entry, options) {
    const { build } = await import('esbuild').catch(() => {
        throw new Error('esbuild is not installed; run tools/setup web');
    });
    const done = await build({
        entryPoints: [here(entry)],
        bundle: true,
        minify: true,
        write: false,
        charset: 'utf8',
        legalComments: 'inline',
        ...options,
    });
    return done.outputFiles[0].text;
}

/** What would end the element early, spelled otherwise. */
const inScript = (text) => text.replace(/<\/(script)/gi, '<\\/$1').replace(/<!--/g, '<\\!--');

function fill(template, parts) {
    const html = template.replace(/\{\{([a-z ]+)\}\}/g, (_, name) => parts[name]);
    if (html.split(MARKER).length !== 2)
        throw new Error(`the template must have ${MARKER} exactly once`);
    return html;
}

async function main(out) {
    if (!out) throw new Error('usage: node build.mjs OUT.html');
    const script = inScript(await bundle('src/main.js', { format: 'iife', target: 'es2022' }));
    const style = await bundle('style.css', { target: 'chrome123' });
    if (/<\/style/i.test(style)) throw new Error('the style would end its own element');
    const size = Buffer.byteLength(script) + Buffer.byteLength(style);
    if (size > MOST) throw new Error(`script and style have ${size} bytes, more than ${MOST}`);
    const html = fill(readFileSync(here('index.html'), 'utf8'), {
        script,
        style,
        'script hash': hash(script),
        'style hash': hash(style),
    });
    mkdirSync(dirname(resolve(out)), { recursive: true });
    writeFileSync(`${out}.new`, html); // a build that is interrupted leaves no half of it
    renameSync(`${out}.new`, out);
    console.log(
        `${out}: script ${Buffer.byteLength(script)}, style ${Buffer.byteLength(style)} bytes`,
    );
}

main(process.argv[2]).catch((error) => {
    console.error(`web/build.mjs: ${error.message}`);
    process.exit(1);
});
