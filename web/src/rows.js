// rows - lists whose elements are kept: while the window is dragged only numbers change.

/** Elements for as many items as there are. make() → { element, … }; fill(row, item, index). */
export class Rows {
    constructor(host, make, fill) {
        Object.assign(this, { host, make, fill, pool: [], shown: 0 });
    }

    show(items) {
        for (let i = 0; i < items.length; i++) {
            if (i === this.pool.length) this.pool.push(this.make());
            if (i >= this.shown) this.host.append(this.pool[i].element);
            this.fill(this.pool[i], items[i], i);
        }
        for (let i = items.length; i < this.shown; i++) this.pool[i].element.remove();
        this.shown = items.length;
    }
}

const SPARE = 3;

/**
 * Only the rows that can be seen are in the page; each is `height` pixels high. `view` scrolls, `host` is
 * in it and as high as all rows together.
 */
export class VirtualRows {
    constructor(view, host, height, make, fill) {
        Object.assign(this, { view, host, height, items: [] });
        this.rows = new Rows(host, make, (row, item, i) => this.place(row, item, i, fill));
        view.addEventListener('scroll', () => this.paint(), { passive: true });
        new ResizeObserver(() => this.paint()).observe(view);
    }

    place(row, item, i, fill) {
        const top = `translateY(${(this.first + i) * this.height}px)`;
        if (row.element.style.transform !== top) row.element.style.transform = top;
        row.element.setAttribute('aria-rowindex', String(this.first + i + 2));
        fill(row, item, this.first + i);
    }

    show(items) {
        this.items = items;
        const height = `${items.length * this.height}px`;
        if (this.host.style.height !== height) this.host.style.height = height;
        this.paint();
    }

    /** Which items can be seen. */
    visible() {
        const seen = matchMedia('print').matches
            ? Infinity
            : Math.ceil(this.view.clientHeight / this.height);
        this.first = Math.max(
            0,
            Math.floor((this.view.scrollTop - this.height) / this.height) - SPARE,
        );
        return this.items.slice(this.first, this.first + seen + 2 * SPARE + 2);
    }

    paint() {
        const items = this.visible();
        this.rows.show(items);
        this.onpaint?.(items);
    }

    /** Brings an item into sight. */
    reveal(index) {
        const top = index * this.height;
        if (top < this.view.scrollTop) this.view.scrollTop = top;
        else if (top + 2 * this.height > this.view.scrollTop + this.view.clientHeight)
            this.view.scrollTop = top + 2 * this.height - this.view.clientHeight;
    }
}
