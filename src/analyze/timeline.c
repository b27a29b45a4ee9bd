/* timeline - the tree and the machine at every tick. */
#include "analyze/cells.h"
#include "analyze/points.h"
#include "analyze/question.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define ROWS_MOST (1 << 20) /* above it each two rows become one; no peak is lost */

enum source { TREE, MACHINE, TREE_PERCENT, MACHINE_PERCENT };

static const struct {
    struct table_column column;
    enum source source;
    enum trace_metric metric;
} measured[] = {
    {{"rss", UNIT_BYTES}, TREE, METRIC_RSS},
    {{"vsz", UNIT_BYTES}, TREE, METRIC_VSZ},
    {{"pss", UNIT_BYTES}, TREE, METRIC_PSS},
    {{"swap", UNIT_BYTES}, TREE, METRIC_SWAP},
    {{"cpu_percent", UNIT_PERCENT}, TREE_PERCENT, METRIC_CPU_NS},
    {{"cpu", UNIT_NS}, TREE, METRIC_CPU_NS},
    {{"read_count", UNIT_COUNT}, TREE, METRIC_READ_CALLS},
    {{"write_count", UNIT_COUNT}, TREE, METRIC_WRITE_CALLS},
    {{"read_bytes", UNIT_BYTES}, TREE, METRIC_READ_BYTES},
    {{"write_bytes", UNIT_BYTES}, TREE, METRIC_WRITE_BYTES},
    {{"minor_faults", UNIT_COUNT}, TREE, METRIC_MINOR_FAULTS},
    {{"major_faults", UNIT_COUNT}, TREE, METRIC_MAJOR_FAULTS},
    {{"voluntary_switches", UNIT_COUNT}, TREE, METRIC_SWITCHES_WAITED},
    {{"involuntary_switches", UNIT_COUNT}, TREE, METRIC_SWITCHES_FORCED},
    {{"threads", UNIT_COUNT}, TREE, METRIC_THREADS},
    {{"processes", UNIT_COUNT}, TREE, METRIC_PROCESSES},
    {{"machine_used", UNIT_BYTES}, MACHINE, METRIC_MACHINE_USED},
    {{"machine_cpu_percent", UNIT_PERCENT}, MACHINE_PERCENT, METRIC_MACHINE_CPU_BUSY},
    {{"machine_swap_used", UNIT_BYTES}, MACHINE, METRIC_MACHINE_SWAP_USED},
};

static const struct table_column *make_columns(struct arena *a)
{
    struct table_column *columns = arena_alloc(a, (1 + COUNT(measured)) * sizeof(*columns));

    columns[0] = (struct table_column){"time", UNIT_NS};
    for (int i = 0; i < COUNT(measured); i++)
        columns[1 + i] = measured[i].column;
    return columns;
}

static void fill(struct table_cell *c, const struct run *r, int i)
{
    switch (measured[i].source) {
    case TREE:
        cells_tree(c, r, measured[i].metric);
        break;
    case MACHINE:
        cells_machine(c, r, measured[i].metric);
        break;
    case TREE_PERCENT:
        cells_percent(c, r->percent_known, r->percent);
        break;
    case MACHINE_PERCENT:
        cells_percent(c, r->machine_percent_known, r->machine_percent);
        break;
    }
}

static void on_tick(const struct run *r, uint64_t time_ns, void *context)
{
    struct points *p = context;
    struct table_cell *c = points_add(p);

    cell_number(&c[0], time_ns);
    for (int i = 0; i < COUNT(measured); i++)
        fill(&c[1 + i], r, i);
    points_done(p);
}

static int run(struct trace *t, struct answer *a, struct err *err)
{
    struct points p = {.answer = a, .most = ROWS_MOST};
    struct run r;

    (void)err;
    p.table = answer_add(a, "timeline", TABLE_TIMELINE, make_columns(a->arena),
                         1 + COUNT(measured));
    run_read(&r, a->arena, t, on_tick, &p);
    a->health = r.health;
    if (r.ticks == 0)
        p.table->note = "The trace holds no sample of the tree.";
    else if (r.ticks > (uint64_t)p.table->rows)
        p.table->note = "Too many samples for a table: each row is the largest of several.";
    return 0;
}

const struct question question_timeline = {
    .name = "timeline",
    .summary = "the tree and the machine at every sample",
    .run = run,
};
