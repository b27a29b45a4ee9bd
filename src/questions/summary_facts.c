/* summary_facts - see summary_facts.h. */
#include "questions/summary_facts.h"

#include "questions/cells.h"
#include "questions/heap_summary.h"

#include <string.h>

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
    bool known = run_total(s->heap->run, metric, &value);

    fact_number(s, name, unit, known, value);
}

static void fact_range(struct summary *s, const char *least, const char *average, const char *most,
                       const struct summary_range *g)
{
    bool known = g->count > 0;

    fact_number(s, least, UNIT_BYTES, known, g->least);
    fact_number(s, average, UNIT_BYTES, known, known ? (uint64_t)(g->sum / g->count) : 0);
    if (most)
        fact_number(s, most, UNIT_BYTES, known, g->most);
}

static void add_command(struct summary *s)
{
    const struct run *r = s->heap->run;
    const char *watched = names_find(r->names, TRACE_OF_RUN, FACT_WATCHED);

    fact_text(s, "command", names_find(r->names, TRACE_OF_RUN, FACT_COMMAND));
    if (watched)
        fact_text(s, "watched_pids", watched);
    fact_text(s, "outcome", names_find(r->names, TRACE_OF_RUN, FACT_OUTCOME));
    fact_metric(s, "exit_status", UNIT_ID, &r->final, METRIC_EXIT_STATUS);
    fact_number(s, "started", UNIT_MOMENT, true, r->header->real_ns);
    fact_number(s, "duration", UNIT_NS, r->process_count > 0 || r->last_ns > 0, run_duration(r));
}

/* A recording without its end lacks the recorder's own bounds: what was sampled is the least that
 * the peak can have been.
 */
static void add_memory(struct summary *s)
{
    uint64_t lower = s->rss.most, upper = 0, value = s->vsz.most;
    bool ended = metrics_get(&s->heap->run->final, METRIC_PEAK_LOWER, &lower);
    bool bounded = metrics_get(&s->heap->run->final, METRIC_PEAK_UPPER, &upper);
    const char *basis = names_find(s->heap->run->names, TRACE_OF_RUN, FACT_PEAK_BASIS);

    fact_number(s, "peak_rss_at_least", UNIT_BYTES, ended || s->rss.count, lower);
    fact_number(s, "peak_rss_at_most", UNIT_BYTES, bounded, upper);
    if (!basis && !ended && s->rss.count)
        basis = "the largest of the samples; the recorder's own bounds are missing";
    fact_text(s, "peak_basis", basis);
    fact_range(s, "rss_min", "rss_average", NULL, &s->rss);
    ended = metrics_get(&s->heap->run->final, METRIC_VSZ_PEAK, &value);
    fact_number(s, "peak_vsz", UNIT_BYTES, ended || s->vsz.count, value);
    fact_metric(s, "peak_pss", UNIT_BYTES, &s->heap->run->final, METRIC_PEAK_PSS);
    fact_metric(s, "cgroup_peak", UNIT_BYTES, &s->heap->run->cgroup, METRIC_CGROUP_PEAK);
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
    uint64_t cpu, span = run_duration(s->heap->run);
    struct table_cell *c;

    fact_total(s, "cpu", UNIT_NS, METRIC_CPU_NS);
    fact_total(s, "cpu_user", UNIT_NS, METRIC_USER_NS);
    fact_total(s, "cpu_system", UNIT_NS, METRIC_SYSTEM_NS);
    c = table_fact(s->answer, s->facts, "cpu_percent", UNIT_PERCENT);
    if (run_total(s->heap->run, METRIC_CPU_NS, &cpu) && span)
        cell_real(c, (double)cpu / (double)span * 100);
    fact_total(s, "minor_faults", UNIT_COUNT, METRIC_MINOR_FAULTS);
    fact_total(s, "major_faults", UNIT_COUNT, METRIC_MAJOR_FAULTS);
    fact_total(s, "read_bytes", UNIT_BYTES, METRIC_READ_BYTES);
    fact_total(s, "write_bytes", UNIT_BYTES, METRIC_WRITE_BYTES);
    fact_number(s, "processes", UNIT_COUNT, true, count_processes(s->heap->run));
}

static void add_machine(struct summary *s)
{
    const struct names *n = s->heap->run->names;
    uint64_t value = 0;
    bool known = names_number(n, TRACE_OF_MACHINE, FACT_MEMORY_TOTAL, &value);

    fact_range(s, "machine_used_min", "machine_used_average", "machine_used_peak", &s->machine);
    fact_number(s, "machine_total", UNIT_BYTES, known, value);
    known = names_number(n, TRACE_OF_MACHINE, FACT_CPUS, &value);
    fact_number(s, "machine_cpus", UNIT_COUNT, known, value);
    fact_text(s, "machine_name", names_find(n, TRACE_OF_MACHINE, FACT_HOSTNAME));
    fact_text(s, "machine_kernel", names_find(n, TRACE_OF_MACHINE, FACT_KERNEL));
}

/* How the processes were watched from outside, and what was recorded inside of them: two things
 * that may differ.
 */
static const char *mode(const struct summary *s)
{
    const struct run *r = s->heap->run;
    const struct table_coverage *c = s->answer->coverage;
    const char *watched = names_find(r->names, TRACE_OF_RUN, FACT_MODE), *line;
    struct arena *a = s->answer->arena;

    if (!watched)
        return NULL;
    line = strcmp(watched, "sampled") == 0
             ? "processes sampled"
             : arena_printf(a, "processes sampled and by %s", watched);
    if (!c)
        return line;
    if (names_find(r->names, TRACE_OF_RUN, FACT_CPU))
        line = arena_printf(a, "%s, CPU time sampled", line);
    return s->heap->any ? arena_printf(a, "%s, allocations %s", line, c->how) : line;
}

static void add_recording(struct summary *s)
{
    const struct names *n = s->heap->run->names;
    uint64_t value = 0;
    bool known = names_number(n, TRACE_OF_RUN, FACT_INTERVAL, &value);

    fact_number(s, "samples", UNIT_COUNT, true, s->heap->run->ticks);
    fact_number(s, "samples_late", UNIT_COUNT, true, s->heap->run->late);
    fact_number(s, "interval", UNIT_NS, known, value);
    fact_text(s, "mode", mode(s));
    fact_text(s, "recorded_by", names_find(n, TRACE_OF_RUN, FACT_VERSION));
    fact_number(s, "alerts", UNIT_COUNT, true, s->heap->run->alert_count);
    fact_number(s, "losses", UNIT_COUNT, true, s->heap->run->loss_count);
}

void summary_facts(struct summary *s)
{
    add_command(s);
    add_memory(s);
    if (s->heap->any)
        heap_summary_facts(s->answer, s->facts, s->heap);
    add_work(s);
    add_machine(s);
    add_recording(s);
}
