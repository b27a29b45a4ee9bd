/* question_summary - a run on one page: the facts, the largest processes, the tree over time, and
 * what went wrong.
 */
#include "base/count.h"
#include "model/process_tree.h"
#include "questions/cells.h"
#include "questions/covered_answer.h"
#include "questions/heap_points.h"
#include "questions/heap_summary.h"
#include "questions/summary_facts.h"

#include <inttypes.h>

#define PROCESSES_SHOWN 40
#define POINTS_MOST 512 /* of the timeline; above it each two become one, no peak is lost */

enum {
    PROCESS_DEPTH,
    PROCESS_NAME,
    PROCESS_PID,
    PROCESS_PEAK_RSS,
    PROCESS_CPU,
    PROCESS_FROM,
    PROCESS_TO,
    PROCESS_ENDED,
};

static const struct table_column process_columns[] = {
    [PROCESS_DEPTH] = {"depth", UNIT_DEPTH}, [PROCESS_NAME] = {"name", UNIT_TEXT},
    [PROCESS_PID] = {"pid", UNIT_ID},        [PROCESS_PEAK_RSS] = {"peak_rss", UNIT_BYTES},
    [PROCESS_CPU] = {"cpu", UNIT_NS},        [PROCESS_FROM] = {"from", UNIT_NS},
    [PROCESS_TO] = {"to", UNIT_NS},          [PROCESS_ENDED] = {"ended", UNIT_TEXT},
};

enum { POINT_TIME, POINT_RSS, POINT_PSS, POINT_PROCESSES, POINT_CPU_PERCENT, POINT_LIVE_HEAP };

static const struct table_column point_columns[] = {
    [POINT_TIME] = {"time", UNIT_NS},
    [POINT_RSS] = {"rss", UNIT_BYTES},
    [POINT_PSS] = {"pss", UNIT_BYTES},
    [POINT_PROCESSES] = {"processes", UNIT_COUNT},
    [POINT_CPU_PERCENT] = {"cpu_percent", UNIT_PERCENT},
    [POINT_LIVE_HEAP] = {"live_heap", UNIT_BYTES}, /* only where the trace has allocations */
};

enum { ALERT_TIME, ALERT_PID, ALERT_NAME, ALERT_METRIC, ALERT_LIMIT, ALERT_VALUE, ALERT_TEXT };

static const struct table_column alert_columns[] = {
    [ALERT_TIME] = {"time", UNIT_NS},      [ALERT_PID] = {"pid", UNIT_ID},
    [ALERT_NAME] = {"name", UNIT_TEXT},    [ALERT_METRIC] = {"metric", UNIT_TEXT},
    [ALERT_LIMIT] = {"limit", UNIT_BYTES}, [ALERT_VALUE] = {"value", UNIT_BYTES},
    [ALERT_TEXT] = {"text", UNIT_TEXT},
};

enum { LOSS_TIME, LOSS_PID, LOSS_NAME, LOSS_COUNT, LOSS_BYTES, LOSS_REASON };

static const struct table_column loss_columns[] = {
    [LOSS_TIME] = {"time", UNIT_NS},      [LOSS_PID] = {"pid", UNIT_ID},
    [LOSS_NAME] = {"name", UNIT_TEXT},    [LOSS_COUNT] = {"count", UNIT_COUNT},
    [LOSS_BYTES] = {"bytes", UNIT_BYTES}, [LOSS_REASON] = {"reason", UNIT_TEXT},
};

enum {
    DEVICE_DEVICE,
    DEVICE_VENDOR,
    DEVICE_NAME,
    DEVICE_PEAK_USED,
    DEVICE_TOTAL,
    DEVICE_PEAK_BUSY_PERCENT,
};

static const struct table_column device_columns[] = {
    [DEVICE_DEVICE] = {"device", UNIT_ID},
    [DEVICE_VENDOR] = {"vendor", UNIT_TEXT},
    [DEVICE_NAME] = {"name", UNIT_TEXT},
    [DEVICE_PEAK_USED] = {"peak_used", UNIT_BYTES},
    [DEVICE_TOTAL] = {"total", UNIT_BYTES},
    [DEVICE_PEAK_BUSY_PERCENT] = {"peak_busy_percent", UNIT_PERCENT},
};

static void range_add(struct summary_range *g, uint64_t value)
{
    if (g->count == 0 || value < g->least)
        g->least = value;
    if (value > g->most)
        g->most = value;
    g->count++;
    g->sum += value;
}

static void on_tick(const struct run *r, uint64_t time_ns, void *context)
{
    struct summary *s = context;
    struct table_cell *c;
    uint64_t value;

    if (!heap_points_wanted(s->options, time_ns))
        return;
    if (r->ticks == 1) /* the first may have met the loader, before the command was itself */
        s->rss = (struct summary_range){.most = s->rss.most};
    if (run_tree(r, METRIC_RSS, &value))
        range_add(&s->rss, value);
    if (run_tree(r, METRIC_VSZ, &value))
        range_add(&s->vsz, value);
    if (metrics_get(&r->machine, METRIC_MACHINE_USED, &value))
        range_add(&s->machine, value);
    c = points_add(&s->points);
    cell_number(&c[POINT_TIME], time_ns);
    cells_tree(&c[POINT_RSS], r, METRIC_RSS);
    cells_tree(&c[POINT_PSS], r, METRIC_PSS);
    cells_tree(&c[POINT_PROCESSES], r, METRIC_PROCESSES);
    cells_percent(&c[POINT_CPU_PERCENT], r->percent_known, r->percent);
    heap_points_cell(&c[POINT_LIVE_HEAP], time_ns);
    points_done(&s->points);
}

/* Tables. */

static const char *note_on_processes(const struct summary *s, size_t left_out, uint64_t shown_ns)
{
    uint64_t cpu;

    if (left_out)
        return arena_printf(s->answer->arena,
                            "%zu smaller process%s left out; the question 'processes' shows all.",
                            left_out, left_out == 1 ? " is" : "es are");
    if (s->heap->run->process_count == 0)
        return "The trace holds no process.";
    if (run_total(s->heap->run, METRIC_CPU_NS, &cpu) && shown_ns < cpu - cpu / 10)
        return "The cpu of each is known up to the kernel's record of its exit, or to the last "
               "sample of it; the kernel's total above has the rest.";
    return NULL;
}

static void add_processes(struct summary *s)
{
    struct answer *a = s->answer;
    size_t left_out = s->heap->run->process_count;
    uint64_t shown_ns = 0;

    process_tree_choose(s->heap->run, PROCESSES_SHOWN);
    for (const struct run_process *p = s->heap->run->roots; p; p = process_tree_next(p)) {
        struct table_cell *c;

        if (!p->shown)
            continue;
        left_out--;
        c = table_add(a, s->processes);
        cell_number(&c[PROCESS_DEPTH], (uint64_t)p->depth);
        cell_text(&c[PROCESS_NAME], p->name);
        cells_pid(&c[PROCESS_PID], p);
        cells_peak(&c[PROCESS_PEAK_RSS], p);
        cells_own(&c[PROCESS_CPU], p, METRIC_CPU_NS);
        shown_ns += c[PROCESS_CPU].present ? c[PROCESS_CPU].number : 0;
        cell_number(&c[PROCESS_FROM], p->from_ns);
        if (p->ended)
            cell_number(&c[PROCESS_TO], p->to_ns);
        cell_text(&c[PROCESS_ENDED], process_tree_end(a->arena, p));
    }
    s->processes->note = note_on_processes(s, left_out, shown_ns);
}

static void fill_who(struct table_cell *pid, struct table_cell *name, const struct run_process *p)
{
    if (!p)
        return;
    cells_pid(pid, p);
    cell_text(name, p->name);
}

static void add_alerts(struct summary *s)
{
    const struct run *r = s->heap->run;
    struct table *t = answer_add(s->answer, "alerts", TABLE_ROWS, alert_columns,
                                 COUNT(alert_columns));

    for (uint64_t i = 0; i < r->alert_count && i < RUN_EVENTS_MOST; i++) {
        struct table_cell *c = table_add(s->answer, t);
        enum trace_unit unit;

        cell_number(&c[ALERT_TIME], r->alerts[i].time_ns);
        fill_who(&c[ALERT_PID], &c[ALERT_NAME], r->alerts[i].process);
        cell_text(&c[ALERT_METRIC], metrics_name(r->alerts[i].metric, &unit));
        cell_number(&c[ALERT_LIMIT], r->alerts[i].limit);
        cell_number(&c[ALERT_VALUE], r->alerts[i].value);
        cell_text(&c[ALERT_TEXT], r->alerts[i].text);
    }
    if (r->alert_count > RUN_EVENTS_MOST)
        t->note = "Only the first 1000 are listed.";
}

static void add_losses(struct summary *s)
{
    const struct run *r = s->heap->run;
    struct table *t = answer_add(s->answer, "losses", TABLE_ROWS, loss_columns,
                                 COUNT(loss_columns));

    for (uint64_t i = 0; i < r->loss_count && i < RUN_EVENTS_MOST; i++) {
        struct table_cell *c = table_add(s->answer, t);

        cell_number(&c[LOSS_TIME], r->losses[i].time_ns);
        fill_who(&c[LOSS_PID], &c[LOSS_NAME], r->losses[i].process);
        if (r->losses[i].has_count)
            cell_number(&c[LOSS_COUNT], r->losses[i].count);
        if (r->losses[i].has_bytes)
            cell_number(&c[LOSS_BYTES], r->losses[i].bytes);
        cell_text(&c[LOSS_REASON], r->losses[i].reason);
    }
    if (r->loss_count > RUN_EVENTS_MOST)
        t->note = "Only the first 1000 are listed.";
}

static void add_devices(struct summary *s)
{
    struct table *t = answer_add(s->answer, "devices", TABLE_ROWS, device_columns,
                                 COUNT(device_columns));

    for (size_t i = 0; i < s->heap->run->device_count; i++) {
        const struct run_device *d = s->heap->run->devices[i];
        struct table_cell *c = table_add(s->answer, t);
        uint64_t value;

        cell_number(&c[DEVICE_DEVICE], d->number);
        cell_text(&c[DEVICE_VENDOR], d->vendor);
        cell_text(&c[DEVICE_NAME], d->name);
        if (metrics_get(&d->most, METRIC_DEVICE_USED, &value))
            cell_number(&c[DEVICE_PEAK_USED], value);
        if (metrics_get(&d->most, METRIC_DEVICE_TOTAL, &value))
            cell_number(&c[DEVICE_TOTAL], value);
        if (metrics_get(&d->most, METRIC_DEVICE_BUSY, &value))
            cell_real(&c[DEVICE_PEAK_BUSY_PERCENT], (double)value / 10);
    }
}

/* The lines below the timeline; without a tick the heap alone. */
static void end_timeline(struct summary *s)
{
    struct heap_points heap = {s->heap, &s->points, POINT_LIVE_HEAP};
    struct table *t = s->points.table;

    heap_points_end(&heap);
    if (s->heap->run->ticks == 0 && s->heap->any) {
        heap_points_alone(&heap);
    } else if (s->heap->run->ticks == 0) {
        t->note = "The trace holds no sample of the tree.";
    } else if (s->heap->run->ticks > (uint64_t)t->rows) {
        t->note = arena_printf(s->answer->arena,
                               "Each row is the largest of several of %" PRIu64
                               " samples; the question 'timeline' has every one.",
                               s->heap->run->ticks);
    }
}

/* Without what lines have: the question findings has that, too. */
static void add_findings(struct summary *s)
{
    heap_summary_tables(s->answer, s->heap);
    findings_read(&s->findings, NULL, s->answer);
    findings_table(&s->findings, s->answer, FINDINGS_MOST);
}

static void begin(struct asked *q)
{
    struct summary *s = q->state;
    struct answer *a = q->answer;

    *s = (struct summary){.answer = a, .heap = &q->recorded->heap, .options = q->options};
    s->points = (struct points){.answer = a, .most = POINTS_MOST};
    s->facts = answer_facts(a, "facts");
    s->processes = answer_add(a, "processes", TABLE_ROWS, process_columns, COUNT(process_columns));
    s->points.table = answer_add(a, "timeline", TABLE_TIMELINE, point_columns,
                                 COUNT(point_columns));
    recorded_listen(q->recorded, on_tick, s);
    space_tables_begin(&s->spaces, q->recorded);
    findings_begin(&s->findings, q->recorded);
}

static void again(struct asked *q)
{
    struct summary *s = q->state;

    if (s->heap->any)
        findings_again(&s->findings);
}

static int run(struct asked *q, struct err *err)
{
    struct summary *s = q->state;
    struct answer *a = q->answer;

    (void)err;
    covered_answer(a, s->heap->run);
    if (s->heap->any)
        heap_at(s->heap, HEAP_AT_PEAK, 0);
    summary_facts(s);
    add_processes(s);
    end_timeline(s);
    if (s->heap->any)
        add_findings(s);
    add_alerts(s);
    add_losses(s);
    add_devices(s);
    space_tables_add(&s->spaces, q->options, a, false);
    return 0;
}

const struct question question_summary = {
    .name = "summary",
    .summary = "what the run used, its largest processes, its memory over time",
    .group = QUESTION_OF_TRACE,
    .more = "; the default where there is no Python",
    .reads = RECORDED_HEAP,
    .state = sizeof(struct summary),
    .begin = begin,
    .again = again,
    .run = run,
};
