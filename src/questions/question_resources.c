/* question_resources - the table behind the format resource-log: the columns of
 * py-resource-monitor's log, for the whole tree of processes.
 *
 * Time is CLOCK_MONOTONIC in seconds (Python's perf_counter). Sizes are whole MiB, each process
 * rounded down before the sum. Counts never fall: what a process did stays when it ends. The CPU
 * use of the first row is since the processes (and the machine) started, later since the row
 * before.
 */
#include "base/count.h"
#include "questions/cells.h"
#include "questions/covered_answer.h"
#include "questions/points.h"
#include "questions/question.h"

#define ROWS_MOST (1 << 20)

enum {
    TIME,
    CPU_PERCENT,
    CPU_PERCENT_GLOBAL,
    RSS_MB,
    VMS_MB,
    VMS_GLOBAL_MB,
    SWAP_USED_MB,
    READ_COUNT,
    READ_COUNT_GLOBAL,
    READ_MB,
    READ_MB_GLOBAL,
    WRITE_COUNT,
    WRITE_COUNT_GLOBAL,
    WRITE_MB,
    WRITE_MB_GLOBAL,
};

static const struct table_column columns[] = {
    [TIME] = {"time", UNIT_REAL},
    [CPU_PERCENT] = {"cpu_percent", UNIT_PERCENT},
    [CPU_PERCENT_GLOBAL] = {"cpu_percent_global", UNIT_PERCENT},
    [RSS_MB] = {"rss_mb", UNIT_COUNT},
    [VMS_MB] = {"vms_mb", UNIT_COUNT},
    [VMS_GLOBAL_MB] = {"vms_global_mb",
                       UNIT_COUNT}, /* the tool's name for the machine's used memory */
    [SWAP_USED_MB] = {"swap_used_mb", UNIT_COUNT},
    [READ_COUNT] = {"read_count", UNIT_COUNT},
    [READ_COUNT_GLOBAL] = {"read_count_global", UNIT_COUNT},
    [READ_MB] = {"read_mb", UNIT_COUNT},
    [READ_MB_GLOBAL] = {"read_mb_global", UNIT_COUNT},
    [WRITE_COUNT] = {"write_count", UNIT_COUNT},
    [WRITE_COUNT_GLOBAL] = {"write_count_global", UNIT_COUNT},
    [WRITE_MB] = {"write_mb", UNIT_COUNT},
    [WRITE_MB_GLOBAL] = {"write_mb_global", UNIT_COUNT},
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
    struct table *machine, *cost;
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
    cell_real(&c[TIME], (double)(r->header->mono_ns + time_ns) / 1e9);
    cells_percent(&c[CPU_PERCENT], r->percent_known, r->percent);
    fill_machine_percent(&c[CPU_PERCENT_GLOBAL], r);
    fill_memory(&c[RSS_MB], r, METRIC_RSS);
    fill_memory(&c[VMS_MB], r, METRIC_VSZ);
    fill(&c[VMS_GLOBAL_MB], &r->machine, METRIC_MACHINE_USED, 20);
    fill(&c[SWAP_USED_MB], &r->machine, METRIC_MACHINE_SWAP_USED, 20);
    fill(&c[READ_COUNT], &r->sum, METRIC_READ_CALLS, 0);
    fill(&c[READ_COUNT_GLOBAL], &r->machine, METRIC_MACHINE_READS, 0);
    fill(&c[READ_MB], &r->sum_mib, METRIC_READ_BYTES, 0);
    fill(&c[READ_MB_GLOBAL], &r->machine, METRIC_MACHINE_READ_BYTES, 20);
    fill(&c[WRITE_COUNT], &r->sum, METRIC_WRITE_CALLS, 0);
    fill(&c[WRITE_COUNT_GLOBAL], &r->machine, METRIC_MACHINE_WRITES, 0);
    fill(&c[WRITE_MB], &r->sum_mib, METRIC_WRITE_BYTES, 0);
    fill(&c[WRITE_MB_GLOBAL], &r->machine, METRIC_MACHINE_WRITE_BYTES, 20);
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
    bool known = names_number(r->names, TRACE_OF_RUN, FACT_RECORDER_PID, &value);

    fact(a, t, "logger_process_pid", UNIT_ID, known, value);
    known = names_number(r->names, TRACE_OF_MACHINE, FACT_CPUS, &value);
    fact(a, t, "cpu_count", UNIT_COUNT, known, value);
    known = metrics_get(m, METRIC_MACHINE_TOTAL, &value) ||
            names_number(r->names, TRACE_OF_MACHINE, FACT_MEMORY_TOTAL, &value);
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
    bool known = names_number(r->names, TRACE_OF_RUN, FACT_SAMPLE_COST, &value) && value;

    fact(a, t, "sample_cost", UNIT_NS, known, value);
    known = names_number(r->names, TRACE_OF_RUN, FACT_INTERVAL, &value);
    fact(a, t, "interval", UNIT_NS, known, value);
}

static void begin(struct asked *q)
{
    struct resources *s = q->state;

    s->machine = answer_facts(q->answer, "machine");
    s->cost = answer_facts(q->answer, "recording");
    s->from_ns = q->options->from_ns;
    s->points = (struct points){.answer = q->answer, .most = ROWS_MOST};
    s->points.table = answer_add(q->answer, "resources", TABLE_ROWS, columns, COUNT(columns));
    recorded_listen(q->recorded, on_tick, s);
}

static int run(struct asked *q, struct err *err)
{
    struct resources *s = q->state;
    const struct run *r = &q->recorded->run;

    (void)err;
    covered_answer(q->answer, r);
    add_machine(q->answer, s->machine, r);
    add_cost(q->answer, s->cost, r);
    if (r->ticks == 0)
        s->points.table->note = "The trace holds no sample of the tree.";
    return 0;
}

const struct question question_resources = {
    .name = "resources",
    .summary = "the columns of py-resource-monitor's log, for the whole tree",
    .group = QUESTION_OF_TRACE,
    .reads = RECORDED_RUN,
    .state = sizeof(struct resources),
    .begin = begin,
    .run = run,
};
