/* resources - the table behind the format resource-log: the columns of py-resource-monitor's log,
 * for the whole tree of processes.
 *
 * Time is CLOCK_MONOTONIC in seconds (Python's perf_counter). Sizes are whole MiB, each process
 * rounded down before the sum. Counts never fall: what a process did stays when it ends. The CPU
 * use of the first row is since the processes (and the machine) started, later since the row
 * before.
 */
#include "analyze/cells.h"
#include "analyze/covered.h"
#include "analyze/points.h"
#include "analyze/question.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define ROWS_MOST (1 << 20)

static const struct table_column fact_columns[] = {{"name", UNIT_TEXT}, {"value", UNIT_TEXT}};

static const struct table_column columns[] = {
    {"time", UNIT_REAL},
    {"cpu_percent", UNIT_PERCENT},
    {"cpu_percent_global", UNIT_PERCENT},
    {"rss_mb", UNIT_COUNT},
    {"vms_mb", UNIT_COUNT},
    {"vms_global_mb", UNIT_COUNT}, /* the tool's name for the machine's used memory */
    {"swap_used_mb", UNIT_COUNT},
    {"read_count", UNIT_COUNT},
    {"read_count_global", UNIT_COUNT},
    {"read_mb", UNIT_COUNT},
    {"read_mb_global", UNIT_COUNT},
    {"write_count", UNIT_COUNT},
    {"write_count_global", UNIT_COUNT},
    {"write_mb", UNIT_COUNT},
    {"write_mb_global", UNIT_COUNT},
};

static void fill(struct table_cell *c, const struct metrics *m, enum trace_metric metric, int shift)
{
    uint64_t value;

    if (metrics_get(m, metric, &value))
        cell_number(c, value >> shift);
}

/* Where no process could be read, or none is left, the recorder's own sum is all there is. */
static void fill_memory(struct table_cell *c, const struct run *r, enum trace_metric metric)
{
    fill(c, &r->sum_mib, metric, 0);
    if (!c->present)
        fill(c, &r->tree, metric, 20);
}

/* Before there is an earlier row, the machine's CPU use is known since it started. */
static void fill_machine_percent(struct table_cell *c, const struct run *r)
{
    uint64_t busy, all;

    if (r->machine_percent_known)
        cell_real(c, r->machine_percent);
    else if (metrics_get(&r->machine, METRIC_MACHINE_CPU_BUSY, &busy) &&
             metrics_get(&r->machine, METRIC_MACHINE_CPU_ALL, &all) && all)
        cell_real(c, (double)busy / (double)all * 100);
}

struct resources {
    struct points points;
    uint64_t from_ns;
};

static void on_tick(const struct run *r, uint64_t time_ns, void *context)
{
    struct resources *s = context;
    struct points *p = &s->points;
    struct table_cell *c;

    if (time_ns < s->from_ns)
        return;
    c = points_add(p);
    cell_real(&c[0], (double)(r->header->mono_ns + time_ns) / 1e9);
    cells_percent(&c[1], r->percent_known, r->percent);
    fill_machine_percent(&c[2], r);
    fill_memory(&c[3], r, METRIC_RSS);
    fill_memory(&c[4], r, METRIC_VSZ);
    fill(&c[5], &r->machine, METRIC_MACHINE_USED, 20);
    fill(&c[6], &r->machine, METRIC_MACHINE_SWAP_USED, 20);
    fill(&c[7], &r->sum, METRIC_READ_CALLS, 0);
    fill(&c[8], &r->machine, METRIC_MACHINE_READS, 0);
    fill(&c[9], &r->sum_mib, METRIC_READ_BYTES, 0);
    fill(&c[10], &r->machine, METRIC_MACHINE_READ_BYTES, 20);
    fill(&c[11], &r->sum, METRIC_WRITE_CALLS, 0);
    fill(&c[12], &r->machine, METRIC_MACHINE_WRITES, 0);
    fill(&c[13], &r->sum_mib, METRIC_WRITE_BYTES, 0);
    fill(&c[14], &r->machine, METRIC_MACHINE_WRITE_BYTES, 20);
    points_done(p);
}

static void fact(struct answer *a, struct table *t, const char *name, enum table_unit unit,
                 bool known, uint64_t value)
{
    struct table_cell *c = table_fact(a, t, name, unit);

    if (known)
        cell_number(c, value);
}

static void add_machine(struct answer *a, struct table *t, const struct run *r)
{
    const struct metrics *m = &r->machine_first;
    uint64_t value = 0, used = 0;
    bool known = names_number(&r->names, TRACE_OF_RUN, "recorder_pid", &value);

    fact(a, t, "logger_process_pid", UNIT_ID, known, value);
    known = names_number(&r->names, TRACE_OF_MACHINE, "cpus", &value);
    fact(a, t, "cpu_count", UNIT_COUNT, known, value);
    known = metrics_get(m, METRIC_MACHINE_TOTAL, &value) ||
            names_number(&r->names, TRACE_OF_MACHINE, "memory_total_bytes", &value);
    fact(a, t, "vm_total_mb", UNIT_COUNT, known, value >> 20);
    known = metrics_get(m, METRIC_MACHINE_AVAILABLE, &value);
    fact(a, t, "vm_available_mb", UNIT_COUNT, known, value >> 20);
    known = metrics_get(m, METRIC_MACHINE_SWAP_TOTAL, &value);
    fact(a, t, "swap_total_mb", UNIT_COUNT, known, value >> 20);
    known = known && metrics_get(m, METRIC_MACHINE_SWAP_USED, &used) && used <= value;
    fact(a, t, "swap_free_mb", UNIT_COUNT, known, (value - used) >> 20);
}

/* What one sample cost, where it was measured, and how often one was taken. */
static void add_cost(struct answer *a, struct table *t, const struct run *r)
{
    uint64_t value = 0;
    bool known = names_number(&r->names, TRACE_OF_RUN, "sample_cost_ns", &value) && value;

    fact(a, t, "sample_cost", UNIT_NS, known, value);
    known = names_number(&r->names, TRACE_OF_RUN, "interval_ns", &value);
    fact(a, t, "interval", UNIT_NS, known, value);
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    struct table *machine, *cost;
    struct resources s = {.points = {.answer = a, .most = ROWS_MOST}, .from_ns = o->from_ns};
    struct run r;

    (void)err;
    machine = answer_add(a, "machine", TABLE_FACTS, fact_columns, COUNT(fact_columns));
    cost = answer_add(a, "recording", TABLE_FACTS, fact_columns, COUNT(fact_columns));
    s.points.table = answer_add(a, "resources", TABLE_ROWS, columns, COUNT(columns));
    trace_rewind(t, 0, o->to_ns ? o->to_ns : UINT64_MAX);
    run_read(&r, a->arena, t, on_tick, &s);
    covered_answer(a, &r);
    add_machine(a, machine, &r);
    add_cost(a, cost, &r);
    if (r.ticks == 0)
        s.points.table->note = "The trace holds no sample of the tree.";
    return 0;
}

const struct question question_resources = {
    .name = "resources",
    .summary = "the columns of py-resource-monitor's log, for the whole tree",
    .run = run,
};
