/* summary - a run on one page: the facts, the largest processes, the tree over time, and what went
 * wrong.
 */
#include "analyze/cells.h"
#include "analyze/covered.h"
#include "analyze/heap_points.h"
#include "analyze/heap_summary.h"
#include "analyze/points.h"
#include "analyze/process_tree.h"
#include "analyze/question.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define PROCESSES_SHOWN 40
#define POINTS_MOST 512 /* of the timeline; above it each two become one, no peak is lost */

static const struct table_column fact_columns[] = {{"name", UNIT_TEXT}, {"value", UNIT_TEXT}};

static const struct table_column process_columns[] = {
    {"depth", UNIT_DEPTH}, {"name", UNIT_TEXT}, {"pid", UNIT_ID}, {"peak_rss", UNIT_BYTES},
    {"cpu", UNIT_NS},      {"from", UNIT_NS},   {"to", UNIT_NS},  {"ended", UNIT_TEXT},
};

static const struct table_column point_columns[] = {
    {"time", UNIT_NS},         {"rss", UNIT_BYTES},           {"pss", UNIT_BYTES},
    {"processes", UNIT_COUNT}, {"cpu_percent", UNIT_PERCENT}, {"live_heap", UNIT_BYTES},
};
#define HEAP_COLUMN 5 /* only where the trace has allocations */

static const struct table_column alert_columns[] = {
    {"time", UNIT_NS},     {"pid", UNIT_ID},      {"name", UNIT_TEXT}, {"metric", UNIT_TEXT},
    {"limit", UNIT_BYTES}, {"value", UNIT_BYTES}, {"text", UNIT_TEXT},
};

static const struct table_column loss_columns[] = {
    {"time", UNIT_NS},     {"pid", UNIT_ID},      {"name", UNIT_TEXT},
    {"count", UNIT_COUNT}, {"bytes", UNIT_BYTES}, {"reason", UNIT_TEXT},
};

static const struct table_column device_columns[] = {
    {"device", UNIT_ID},       {"vendor", UNIT_TEXT}, {"name", UNIT_TEXT},
    {"peak_used", UNIT_BYTES}, {"total", UNIT_BYTES}, {"peak_busy_percent", UNIT_PERCENT},
};

struct range { /* of what was sampled */
    uint64_t least, most, count;
    unsigned __int128 sum;
};

struct summary {
    struct answer *answer;
    struct table *facts, *processes;
    struct points points;
    struct heap heap; /* with the run in it */
    struct heap_points heap_points;
    struct heap_summary_held held;
    struct range rss, vsz, machine;
};

static void range_add(struct range *g, uint64_t value)
{
    if (g->count == 0 || value < g->least)
        g->least = value;
    if (value > g->most)
        g->most = value;
    g->count++;
    g->sum += value;
}

static void look_what_is_held(struct summary *s, const struct run *r, const struct table_cell *live)
{
    uint64_t held;

    if (live->present && metrics_get(&r->tree, METRIC_RESIDENT_HEAP, &held))
        s->held = (struct heap_summary_held){true, held, live->number};
}

static void on_tick(const struct run *r, uint64_t time_ns, void *context)
{
    struct summary *s = context;
    struct table_cell *c;
    uint64_t value;

    if (!heap_points_wanted(&s->heap_points, time_ns))
        return;
    if (s->heap.any)
        s->points.table->width = COUNT(point_columns);
    if (r->ticks == 1) /* the first may have met the loader, before the command was itself */
        s->rss = (struct range){.most = s->rss.most};
    if (run_tree(r, METRIC_RSS, &value))
        range_add(&s->rss, value);
    if (run_tree(r, METRIC_VSZ, &value))
        range_add(&s->vsz, value);
    if (metrics_get(&r->machine, METRIC_MACHINE_USED, &value))
        range_add(&s->machine, value);
    c = points_add(&s->points);
    cell_number(&c[0], time_ns);
    cells_tree(&c[1], r, METRIC_RSS);
    cells_tree(&c[2], r, METRIC_PSS);
    cells_tree(&c[3], r, METRIC_PROCESSES);
    cells_percent(&c[4], r->percent_known, r->percent);
    if (s->heap.any) {
        heap_points_cell(&s->heap_points, &c[HEAP_COLUMN], time_ns);
        look_what_is_held(s, r, &c[HEAP_COLUMN]);
    }
    points_done(&s->points);
}

/* Facts, one line each. */

static void fact_text(struct summary *s, const char *name, const char *text)
{
    cell_text(table_fact(s->answer, s->facts, name, UNIT_TEXT), text);
}

static void fact_number(struct summary *s, const char *name, enum table_unit unit, bool known,
                        uint64_t value)
{
    struct table_cell *c = table_fact(s->answer, s->facts, name, unit);

    if (known)
        cell_number(c, value);
}

static void fact_metric(struct summary *s, const char *name, enum table_unit unit,
                        const struct metrics *m, enum trace_metric metric)
{
    uint64_t value = 0;
    bool known = metrics_get(m, metric, &value);

    fact_number(s, name, unit, known, value);
}

static void fact_total(struct summary *s, const char *name, enum table_unit unit,
                       enum trace_metric metric)
{
    uint64_t value = 0;
    bool known = run_total(&s->heap.run, metric, &value);

    fact_number(s, name, unit, known, value);
}

static void fact_range(struct summary *s, const char *least, const char *average, const char *most,
                       const struct range *g)
{
    bool known = g->count > 0;

    fact_number(s, least, UNIT_BYTES, known, g->least);
    fact_number(s, average, UNIT_BYTES, known, known ? (uint64_t)(g->sum / g->count) : 0);
    if (most)
        fact_number(s, most, UNIT_BYTES, known, g->most);
}

static void add_command(struct summary *s)
{
    const struct run *r = &s->heap.run;
    char date[TEXT_STAMP];

    fact_text(s, "command", names_find(&r->names, TRACE_OF_RUN, "command"));
    if (names_find(&r->names, TRACE_OF_RUN, "watched_pids"))
        fact_text(s, "watched_pids", names_find(&r->names, TRACE_OF_RUN, "watched_pids"));
    fact_text(s, "outcome", names_find(&r->names, TRACE_OF_RUN, "outcome"));
    fact_metric(s, "exit_status", UNIT_ID, &r->final, METRIC_EXIT_STATUS);
    fact_text(s, "started",
              arena_printf(s->answer->arena, "%s UTC", text_date(date, r->header->real_ns)));
    fact_number(s, "duration", UNIT_NS, r->process_count > 0 || r->last_ns > 0, run_duration(r));
}

/* A recording without its end lacks the recorder's own bounds: what was sampled is the least that
 * the peak can have been.
 */
static void add_memory(struct summary *s)
{
    uint64_t lower = s->rss.most, upper = 0, value = s->vsz.most;
    bool ended = metrics_get(&s->heap.run.final, METRIC_PEAK_LOWER, &lower);
    bool bounded = metrics_get(&s->heap.run.final, METRIC_PEAK_UPPER, &upper);
    const char *basis = names_find(&s->heap.run.names, TRACE_OF_RUN, "peak_basis");

    fact_number(s, "peak_rss_at_least", UNIT_BYTES, ended || s->rss.count, lower);
    fact_number(s, "peak_rss_at_most", UNIT_BYTES, bounded, upper);
    if (!basis && !ended && s->rss.count)
        basis = "the largest of the samples; the recorder's own bounds are missing";
    fact_text(s, "peak_basis", basis);
    fact_range(s, "rss_min", "rss_average", NULL, &s->rss);
    ended = metrics_get(&s->heap.run.final, METRIC_VSZ_PEAK, &value);
    fact_number(s, "peak_vsz", UNIT_BYTES, ended || s->vsz.count, value);
    fact_metric(s, "peak_pss", UNIT_BYTES, &s->heap.run.final, METRIC_PEAK_PSS);
    fact_metric(s, "cgroup_peak", UNIT_BYTES, &s->heap.run.cgroup, METRIC_CGROUP_PEAK);
}

/* Incarnations by exec(2) are rows of the tree, but one process. */
static uint64_t count_processes(const struct run *r)
{
    uint64_t n = 0;

    for (size_t i = 0; i < r->process_count; i++)
        n += r->processes[i]->born != TRACE_BORN_EXECED;
    metrics_get(&r->final, METRIC_PROCESSES, &n);
    return n;
}

static void add_work(struct summary *s)
{
    uint64_t cpu, span = run_duration(&s->heap.run);
    struct table_cell *c;

    fact_total(s, "cpu", UNIT_NS, METRIC_CPU_NS);
    fact_total(s, "cpu_user", UNIT_NS, METRIC_USER_NS);
    fact_total(s, "cpu_system", UNIT_NS, METRIC_SYSTEM_NS);
    c = table_fact(s->answer, s->facts, "cpu_percent", UNIT_PERCENT);
    if (run_total(&s->heap.run, METRIC_CPU_NS, &cpu) && span)
        cell_real(c, (double)cpu / (double)span * 100);
    fact_total(s, "minor_faults", UNIT_COUNT, METRIC_MINOR_FAULTS);
    fact_total(s, "major_faults", UNIT_COUNT, METRIC_MAJOR_FAULTS);
    fact_total(s, "read_bytes", UNIT_BYTES, METRIC_READ_BYTES);
    fact_total(s, "write_bytes", UNIT_BYTES, METRIC_WRITE_BYTES);
    fact_number(s, "processes", UNIT_COUNT, true, count_processes(&s->heap.run));
}

static void add_machine(struct summary *s)
{
    const struct names *n = &s->heap.run.names;
    uint64_t value = 0;
    bool known = names_number(n, TRACE_OF_MACHINE, "memory_total_bytes", &value);

    fact_range(s, "machine_used_min", "machine_used_average", "machine_used_peak", &s->machine);
    fact_number(s, "machine_total", UNIT_BYTES, known, value);
    known = names_number(n, TRACE_OF_MACHINE, "cpus", &value);
    fact_number(s, "machine_cpus", UNIT_COUNT, known, value);
    fact_text(s, "machine_name", names_find(n, TRACE_OF_MACHINE, "hostname"));
    fact_text(s, "machine_kernel", names_find(n, TRACE_OF_MACHINE, "kernel"));
}

/* How the processes were watched from outside, and what was recorded inside of them: two things
 * that may differ.
 */
static const char *mode(const struct summary *s)
{
    const struct run *r = &s->heap.run;
    const struct table_coverage *c = s->answer->coverage;
    const char *watched = names_find(&r->names, TRACE_OF_RUN, "mode"), *line;
    struct arena *a = s->answer->arena;

    if (!watched)
        return NULL;
    line = strcmp(watched, "sampled") == 0
             ? "processes sampled"
             : arena_printf(a, "processes sampled and by %s", watched);
    if (!c)
        return line;
    if (names_find(&r->names, TRACE_OF_RUN, "cpu"))
        line = arena_printf(a, "%s, CPU time sampled", line);
    return s->heap.any ? arena_printf(a, "%s, allocations %s", line, c->how) : line;
}

static void add_recording(struct summary *s)
{
    const struct names *n = &s->heap.run.names;
    uint64_t value = 0;
    bool known = names_number(n, TRACE_OF_RUN, "interval_ns", &value);

    fact_number(s, "samples", UNIT_COUNT, true, s->heap.run.ticks);
    fact_number(s, "interval", UNIT_NS, known, value);
    fact_text(s, "mode", mode(s));
    fact_text(s, "recorded_by", names_find(n, TRACE_OF_RUN, "version"));
    fact_number(s, "alerts", UNIT_COUNT, true, s->heap.run.alert_count);
    fact_number(s, "losses", UNIT_COUNT, true, s->heap.run.loss_count);
}

/* Tables. */

static const char *note_on_processes(const struct summary *s, size_t left_out, uint64_t shown_ns)
{
    uint64_t cpu;

    if (left_out)
        return arena_printf(s->answer->arena,
                            "%zu smaller process%s left out; the question 'processes' shows all.",
                            left_out, left_out == 1 ? " is" : "es are");
    if (s->heap.run.process_count == 0)
        return "The trace holds no process.";
    if (run_total(&s->heap.run, METRIC_CPU_NS, &cpu) && shown_ns < cpu - cpu / 10)
        return "The cpu of each is known up to the last sample of it; the kernel's total above has "
               "the rest.";
    return NULL;
}

static void add_processes(struct summary *s)
{
    struct answer *a = s->answer;
    size_t left_out = s->heap.run.process_count;
    uint64_t shown_ns = 0;

    process_tree_choose(&s->heap.run, PROCESSES_SHOWN);
    for (const struct run_process *p = s->heap.run.roots; p; p = process_tree_next(p)) {
        struct table_cell *c;

        if (!p->shown)
            continue;
        left_out--;
        c = table_add(a, s->processes);
        cell_number(&c[0], (uint64_t)p->depth);
        cell_text(&c[1], p->name);
        cell_number(&c[2], p->pid);
        cells_peak(&c[3], p);
        cells_own(&c[4], p, METRIC_CPU_NS);
        shown_ns += c[4].present ? c[4].number : 0;
        cell_number(&c[5], p->from_ns);
        if (p->ended)
            cell_number(&c[6], p->to_ns);
        cell_text(&c[7], process_tree_end(a->arena, p));
    }
    s->processes->note = note_on_processes(s, left_out, shown_ns);
}

static void fill_who(struct table_cell *pid, struct table_cell *name, const struct run_process *p)
{
    if (!p)
        return;
    cell_number(pid, p->pid);
    cell_text(name, p->name);
}

static void add_alerts(struct summary *s)
{
    const struct run *r = &s->heap.run;
    struct table *t = answer_add(s->answer, "alerts", TABLE_ROWS, alert_columns,
                                 COUNT(alert_columns));

    for (uint64_t i = 0; i < r->alert_count && i < RUN_EVENTS_MOST; i++) {
        struct table_cell *c = table_add(s->answer, t);
        enum trace_unit unit;

        cell_number(&c[0], r->alerts[i].time_ns);
        fill_who(&c[1], &c[2], r->alerts[i].process);
        cell_text(&c[3], metrics_name(r->alerts[i].metric, &unit));
        cell_number(&c[4], r->alerts[i].limit);
        cell_number(&c[5], r->alerts[i].value);
        cell_text(&c[6], r->alerts[i].text);
    }
    if (r->alert_count > RUN_EVENTS_MOST)
        t->note = "Only the first 1000 are listed.";
}

static void add_losses(struct summary *s)
{
    const struct run *r = &s->heap.run;
    struct table *t = answer_add(s->answer, "losses", TABLE_ROWS, loss_columns,
                                 COUNT(loss_columns));

    for (uint64_t i = 0; i < r->loss_count && i < RUN_EVENTS_MOST; i++) {
        struct table_cell *c = table_add(s->answer, t);

        cell_number(&c[0], r->losses[i].time_ns);
        fill_who(&c[1], &c[2], r->losses[i].process);
        if (r->losses[i].has_count)
            cell_number(&c[3], r->losses[i].count);
        if (r->losses[i].has_bytes)
            cell_number(&c[4], r->losses[i].bytes);
        cell_text(&c[5], r->losses[i].reason);
    }
    if (r->loss_count > RUN_EVENTS_MOST)
        t->note = "Only the first 1000 are listed.";
}

static void add_devices(struct summary *s)
{
    struct table *t = answer_add(s->answer, "devices", TABLE_ROWS, device_columns,
                                 COUNT(device_columns));

    for (size_t i = 0; i < s->heap.run.device_count; i++) {
        const struct run_device *d = s->heap.run.devices[i];
        struct table_cell *c = table_add(s->answer, t);
        uint64_t value;

        cell_number(&c[0], d->number);
        cell_text(&c[1], d->vendor);
        cell_text(&c[2], d->name);
        if (metrics_get(&d->most, METRIC_DEVICE_USED, &value))
            cell_number(&c[3], value);
        if (metrics_get(&d->most, METRIC_DEVICE_TOTAL, &value))
            cell_number(&c[4], value);
        if (metrics_get(&d->most, METRIC_DEVICE_BUSY, &value))
            cell_real(&c[5], (double)value / 10);
    }
}

/* The lines below the timeline; without a tick the heap alone. */
static void end_timeline(struct summary *s)
{
    struct table *t = s->points.table;

    if (s->heap.run.ticks == 0 && s->heap.any) {
        t->width = COUNT(point_columns);
        heap_points_alone(&s->heap_points);
    } else if (s->heap.run.ticks == 0) {
        t->note = "The trace holds no sample of the tree.";
    } else if (s->heap.run.ticks > (uint64_t)t->rows) {
        t->note = arena_printf(s->answer->arena,
                               "Each row is the largest of several of %" PRIu64
                               " samples; the question 'timeline' has every one.",
                               s->heap.run.ticks);
    }
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    struct summary s = {.answer = a, .points = {.answer = a, .most = POINTS_MOST}};

    (void)err;
    s.facts = answer_add(a, "facts", TABLE_FACTS, fact_columns, COUNT(fact_columns));
    s.processes = answer_add(a, "processes", TABLE_ROWS, process_columns, COUNT(process_columns));
    s.heap_points = (struct heap_points){&s.heap, &s.points, HEAP_COLUMN, 0};
    s.points.table = answer_add(a, "timeline", TABLE_TIMELINE, point_columns, HEAP_COLUMN);
    heap_read(&s.heap, a->arena, t, o, on_tick, &s);
    covered_answer(a, &s.heap.run);
    add_command(&s);
    add_memory(&s);
    if (s.heap.any)
        heap_summary_facts(a, s.facts, &s.heap);
    add_work(&s);
    add_machine(&s);
    add_recording(&s);
    add_processes(&s);
    end_timeline(&s);
    if (s.heap.any)
        heap_summary_tables(a, &s.heap, t, &s.held);
    add_alerts(&s);
    add_losses(&s);
    add_devices(&s);
    heap_free(&s.heap);
    return 0;
}

const struct question question_summary = {
    .name = "summary",
    .summary = "what the run used, its largest processes, its memory over time",
    .run = run,
};
