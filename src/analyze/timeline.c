/* timeline - the tree and the machine at every tick. */
#include "analyze/cells.h"
#include "analyze/covered.h"
#include "analyze/heap_points.h"
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

#define HEAP_COLUMN (1 + COUNT(measured)) /* only where the trace has allocations */

struct timeline {
    struct points points;
    struct heap heap;
    struct heap_points heap_points;
};

static const struct table_column *make_columns(struct arena *a)
{
    struct table_column *columns = arena_alloc(a, (HEAP_COLUMN + 1) * sizeof(*columns));

    columns[0] = (struct table_column){"time", UNIT_NS};
    for (int i = 0; i < COUNT(measured); i++)
        columns[1 + i] = measured[i].column;
    columns[HEAP_COLUMN] = (struct table_column){"live_heap", UNIT_BYTES};
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
    struct timeline *l = context;
    struct table_cell *c;

    if (!heap_points_wanted(&l->heap_points, time_ns))
        return;
    if (l->heap.any)
        l->points.table->width = HEAP_COLUMN + 1;
    c = points_add(&l->points);
    cell_number(&c[0], time_ns);
    for (int i = 0; i < COUNT(measured); i++)
        fill(&c[1 + i], r, i);
    if (l->heap.any)
        heap_points_cell(&l->heap_points, &c[HEAP_COLUMN], time_ns);
    points_done(&l->points);
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    struct timeline l = {.points = {.answer = a, .most = ROWS_MOST}};
    struct table *table = answer_add(a, "timeline", TABLE_TIMELINE, make_columns(a->arena),
                                     HEAP_COLUMN);

    (void)err;
    l.points.table = table;
    l.heap_points = (struct heap_points){&l.heap, &l.points, HEAP_COLUMN, 0};
    heap_read(&l.heap, a->arena, t, o, on_tick, &l);
    covered_answer(a, &l.heap.run);
    if (l.heap.run.ticks == 0 && l.heap.any) {
        table->width = HEAP_COLUMN + 1;
        heap_points_alone(&l.heap_points);
    } else if (l.heap.run.ticks == 0) {
        table->note = "The trace holds no sample of the tree.";
    } else if (l.points.each > 1) {
        table->note = "Too many samples for a table: each row is the largest of several.";
    }
    heap_free(&l.heap);
    return 0;
}

const struct question question_timeline = {
    .name = "timeline",
    .summary = "the tree and the machine at every sample",
    .run = run,
};
