// keys - what the keyboard does, wherever the focus is (but in a field).

import { byId, put } from './dom.js';

const typing = (ev) =>
    ev.target.matches('input, select, textarea') || ev.ctrlKey || ev.metaKey || ev.altKey;

export function listenToKeys(app) {
    put(byId('keys-of-views'), `1 – ${app.names.length}`);
    const does = {
        '/': () => byId('q').focus(),
        '?': () => byId('keys').showModal(),
        t: () => app.switchTheme(),
        i: () => app.set({ invert: !app.state.invert, zoom: 0 }),
        a: () => app.setWindow(-1, app.model.cells - 1),
        p: () => app.model.has.heap && app.aroundPeak(),
        ArrowLeft: () => app.moveWindow(-1, -1),
        ArrowRight: () => app.moveWindow(1, 1),
        ',': () => app.moveWindow(0, -1),
        '.': () => app.moveWindow(0, 1),
    };
    document.addEventListener('keydown', (ev) => {
        if (byId('keys').open || ev.defaultPrevented) return;
        if (typing(ev)) {
            if (ev.key === 'Escape') ev.target.blur();
            return;
        }
        const view = app.names[Number(ev.key) - 1];
        if (does[ev.key]) {
            ev.preventDefault();
            does[ev.key]();
        } else if (view) app.set({ view });
    });
}
