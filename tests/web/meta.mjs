// meta - what a made-up run says of itself: processes, series, findings, facts and source.

import { deltas } from './pack.mjs';

export function sourceOf(lines, name) {
    const files = [...new Set(lines.slice(1).map((l) => l.file))];
    return files.map((file) => ({
        file,
        n: Array(220).fill(1),
        text: Array.from({ length: 220 }, (_, i) => name(`    value_${i} = compute(${i})`)),
    }));
}

/** Points of a series: times and values. */
function series(of, id, name, unit, duration, n, value) {
    return {
        of,
        id,
        name,
        unit,
        t: deltas(Array.from({ length: n }, (_, i) => Math.floor((duration * i) / n))),
        v: Array.from({ length: n }, (_, i) => value(i / n)),
    };
}

/** What META says of such a run: made up where the events do not tell. */
export function metaOf(o, grid, labels, lines) {
    const { name, duration } = o;
    const peak = grid.heap.reduce((a, b) => Math.max(a, b), 0);
    const bins = Math.min(1200, 40 * grid.t.length);
    const fine = o.heap ? fineOf(grid, duration, bins) : { hi: [], lo: [] };
    const processes = Array.from({ length: o.processes }, (_, i) => ({
        id: i + 1,
        pid: 1000 + i,
        parent: i ? Math.floor((i - 1) / 8) : -1,
        name: name(`python${i || ''}`),
        command: name(`python report.py --part ${i}`),
        start: Math.floor((duration * i) / (2 * o.processes)),
        end: i ? Math.floor(duration * 0.9) : duration,
        how: i % 9 === 8 ? 'signal' : 'exited',
        status: i % 9 === 8 ? 9 : 0,
        rss: 50e6 + 1e5 * i,
        cpu: 4e5,
        heap: peak,
        recorded: i % 5 !== 4,
        unrecorded: i % 5 === 4 ? name('it is static') : null,
    }));
    const threads = Array.from({ length: o.threads }, (_, i) => ({
        process: i % o.processes,
        tid: 2000 + i,
        name: name(`worker${i}`),
        start: 0,
        end: duration,
        line: i && lines.length > 1 ? 1 : 0,
    }));
    const rss = (x) => Math.floor(peak * (0.6 + x) + 30e6);
    const parts = ['heap', 'stack', 'data', 'file', 'shared', 'anon'];
    return {
        version: 1,
        tool: '0.1.0',
        trace: name('run.tide'),
        trace_bytes: 123456,
        started: 1760000000000,
        duration,
        command: name('python report.py'),
        outcome: 'exited with status 0',
        sentence: name(`The heap peaked at ${(peak / 1048576).toFixed(1)} MiB in part1.py:2.`),
        asked: null,
        sampled: o.sampled,
        heap: o.heap,
        has: {
            cpu: o.cpu,
            waits: o.waits,
            copies: o.copies,
            maps: o.maps,
            lines: true,
            source: o.source,
        },
        events: 12000,
        stacks: o.stacks,
        eps: 0,
        parts: o.parts,
        folded: { nodes: 0, leaves: 0 },
        grid: {
            t: deltas(grid.t),
            heap: grid.heap,
            quiet: grid.quiet,
            peak: grid.heap.indexOf(peak),
        },
        fine,
        peak_heap: {
            bytes: peak,
            time: grid.t[grid.heap.indexOf(peak)],
            basis: o.sampled ? 'sampled, ±3 %' : 'exact',
        },
        peak_rss: { lower: rss(0.99), upper: null, basis: 'exact' },
        processes,
        threads,
        regions: [
            {
                name: name('load'),
                thread: 0,
                start: duration * 0.1,
                end: duration * 0.4,
                parent: -1,
            },
            {
                name: name('train'),
                thread: 0,
                start: duration * 0.4,
                end: duration * 0.9,
                parent: -1,
            },
        ],
        marks: [{ time: duration * 0.5, sort: 'mark', name: name('half'), value: null }],
        steps: o.steps
            ? [
                  {
                      name: name('step'),
                      process: 0,
                      began: duration * 0.1,
                      ends: deltas(
                          Array.from(
                              { length: o.steps },
                              (_, i) => duration * (0.1 + (0.8 * (i + 1)) / o.steps),
                          ),
                      ),
                  },
              ]
            : o.labels
            ? [
                  {
                      name: name('epoch'),
                      process: 0,
                      ends: deltas([0.2, 0.5, 0.8].map((x) => x * duration)),
                  },
              ]
            : [],
        labels,
        series: [
            series('run', 0, 'rss', 'bytes', duration, 100, rss),
            series('run', 0, 'read_chars', 'bytes', duration, 40, (x) => Math.floor(1e7 * x)),
            ...parts.map((k) =>
                series('run', 0, `resident_${k}`, 'bytes', duration, 50, (x) =>
                    Math.floor(rss(x) / 8),
                ),
            ),
            ...processes
                .slice(0, 50)
                .map((_, i) =>
                    series('process', i, 'rss', 'bytes', duration, 12, (x) =>
                        Math.floor(1e7 * (1 + x)),
                    ),
                ),
        ],
        spaces: o.spaces ?? [],
        findings: findingsOf(o, lines),
        facts: [
            { name: name('kernel'), value: name('Linux 6.1'), unit: 'text', basis: null },
            { name: 'page faults', value: 12345, unit: 'count', basis: 'exact' },
        ],
        health: o.health ?? null,
        coverage: name('1 of 1 process was recorded'),
        losses: o.losses ?? [],
        unnamed: o.unnamed ?? [name('libx.so has no symbols')],
        left_out: null,
        suppressed: null,
        pairing: { named: 900, aged: 90, fallback: 1, ambiguous: 20 },
        verdicts:
            o.heap && lines.length > 1
                ? [{ line: 1, verdict: 'growing', confidence: 'likely', per_second: 4096 }]
                : [],
    };
}

function fineOf({ heap, t }, duration, bins) {
    const [hi, lo] = [new Array(bins).fill(null), new Array(bins).fill(null)];
    t.forEach((time, i) => {
        const bin = Math.min(bins - 1, Math.floor((time / duration) * bins));
        hi[bin] = Math.max(hi[bin] ?? 0, heap[i]);
        lo[bin] = Math.min(lo[bin] ?? Infinity, heap[i]);
    });
    for (let b = 0, last = 0; b < bins; b++) {
        hi[b] ??= last;
        lo[b] ??= last;
        last = lo[b];
    }
    return { hi, lo };
}

function findingsOf({ name, heap, cpu, duration }, lines) {
    const at = lines[1] ?? { file: null, line: null };
    const common = {
        confidence: 'likely',
        file: at.file,
        line: at.line,
        code: name('value = compute()'),
        from: null,
        to: null,
        severity: 2,
        advice: name('Do it in parts.'),
        evidence: name('12 MiB of 20 MiB'),
    };
    return [
        heap && {
            ...common,
            kind: 'held',
            title: name('part1.py:2 held 60 % of the peak'),
            view: 'flame',
            measure: 'peak',
        },
        heap && {
            ...common,
            kind: 'grows_in',
            title: name('part1.py:2 keeps growing in load'),
            view: 'leaks',
            measure: 'kept',
            severity: 3,
            from: duration * 0.1,
            to: duration * 0.4,
        },
        heap && {
            ...common,
            kind: 'churn',
            title: name('part1.py:2 allocates and drops 2 GiB'),
            view: 'source',
            measure: 'temporary',
        },
        cpu && {
            ...common,
            kind: 'cpu',
            title: name('part1.py:2 takes 30 % of the CPU time'),
            view: 'table',
            measure: 'cpu',
        },
        {
            ...common,
            kind: 'of_the_future',
            title: name('A kind that no page knows'),
            view: 'run',
            measure: 'peak',
            file: null,
            line: null,
            code: null,
        },
    ].filter(Boolean);
}
