// dom - elements without a framework. Names in a trace may hold anything: they only ever become
// text.

/** @param {string} id @returns {HTMLElement} */
export const byId = (id) => document.getElementById(id);

const wanted = (child) => child != null && child !== false && child !== '';

function assign(element, name, value) {
    if (value == null || value === false) return;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'style')
        for (const [k, v] of Object.entries(value)) element.style.setProperty(k, v);
    else element.setAttribute(name, value === true ? '' : value);
}

/** h('b', { class: 'x', onclick: f }, 'text', child, [more]) → element */
export function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) assign(element, name, value);
    element.append(...children.flat(2).filter(wanted));
    return element;
}

/** Children in the place of what was there. */
export const show = (parent, ...children) =>
    parent.replaceChildren(...children.flat(2).filter(wanted));

/**
 * Text that is only touched when it changes; what was put last is kept beside, as to ask costs
 * more.
 */
export function put(element, text) {
    if (element.lastText === text) return;
    element.lastText = text;
    element.textContent = text;
}

/** Likewise an attribute; null takes it away. */
export function mark(element, name, value) {
    if (value == null) element.removeAttribute(name);
    else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

/** The length of a bar, in percent of its place. */
export function extent(element, part) {
    const width = `${Math.max(0, Math.min(100, part * 100)).toFixed(2)}%`;
    if (element.lastWidth === width) return;
    element.lastWidth = width;
    element.style.width = width;
}

/** Copies text where the browser allows it, and says so on the button for a moment. */
export async function copy(text, button) {
    const name = button.textContent;
    try {
        await navigator.clipboard.writeText(text);
        put(button, 'Copied');
    } catch {
        put(button, 'The browser does not allow it');
    }
    setTimeout(() => put(button, name), 1200);
}

export const narrow = () => matchMedia('(max-width: 620px)').matches;
