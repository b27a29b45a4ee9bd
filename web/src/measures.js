// measures - what can be shown, each with its unit, what it needs and what is said below its total.

import { bytes, count, micros, percent, share, time } from './format.js';

const perSecond = (value, span) => (span > 0 ? value / span : null);

/**
 * needs: what must have been recorded. note: the small line below the total, from the totals t, the
 * window w = { from, to, span } in seconds, and w.error, how far the peak of a sampled run may be off.
 */
export const MEASURES = {
    peak: {
        name: 'At the peak',
        unit: 'bytes',
        needs: 'heap',
        tip: 'live at the highest moment inside the window',
        note: (t, w) => `at ${time(t.peakTime)}${w.error}`,
    },
    end: {
        name: 'At the end',
        unit: 'bytes',
        needs: 'heap',
        tip: 'live at the end of the window',
        note: (t, w) => `at ${time(w.to)}`,
    },
    kept: {
        name: 'Kept',
        unit: 'bytes',
        needs: 'heap',
        tip: 'allocated inside the window and not freed: alive at its end, or gone only when its process ended',
        note: (t) => `${percent(share(t.kept, t.allocated))} of allocated`,
    },
    allocated: {
        name: 'Allocated',
        unit: 'bytes',
        needs: 'heap',
        tip: 'allocated inside the window, freed or not',
        note: (t, w) => `${bytes(perSecond(t.allocated, w.span))}/s`,
    },
    temporary: {
        name: 'Temporary',
        unit: 'bytes',
        needs: 'heap',
        tip: 'allocated and freed again inside the window',
        note: (t) => `${percent(share(t.temporary, t.allocated))} of allocated`,
    },
    allocations: {
        name: 'Allocations',
        unit: 'count',
        needs: 'heap',
        tip: 'number of allocations inside the window',
        note: (t, w) => `${count(perSecond(t.allocations, w.span))}/s`,
    },
    cpu: {
        name: 'CPU',
        unit: 'us',
        needs: 'cpu',
        tip: 'CPU time inside the window: Python, native code, kernel; sampled',
        note: (t, w) => `${percent(share(t.cpu / 1e6, w.span))} of a core`,
    },
    waits: {
        name: 'Waiting',
        unit: 'us',
        needs: 'waits',
        tip: 'time that threads waited inside the window; sampled. Time ready to run while no CPU was free (queued) is not waiting, and is shown beside it',
        note: (t) => (t.queued ? `+ ${micros(t.queued)} queued` : 'of all threads'),
    },
    mapped: {
        name: 'Mapped',
        unit: 'bytes',
        needs: 'maps',
        tip: 'memory that the program maps itself (mmap, brk), when most of it was mapped inside the window; a part of what lives',
        note: (t) => `at ${time(t.mappedTime)}`,
    },
    copied: {
        name: 'Copied',
        unit: 'bytes',
        needs: 'copies',
        tip: 'bytes copied from one place to another inside the window',
        note: (t, w) => `${bytes(perSecond(t.copied, w.span))}/s`,
    },
};

/** Those that this run can answer. @returns {string[]} */
export const measuresOf = (model) =>
    Object.keys(MEASURES).filter((k) => model.has[MEASURES[k].needs]);

/** Measures of blocks: beside their bytes, their number is known. */
export const ofBlocks = (measure) =>
    ['peak', 'end', 'kept', 'allocated', 'temporary'].includes(measure);
