/* question_timeline - the tree and the machine at every tick. */
#include "base/count.h"
#include "questions/cells.h"
#include "questions/covered_answer.h"
#include "questions/heap_points.h"
#include "questions/points.h"
#include "questions/question.h"

#define ROWS_MOST (1 << 20) /* above it each two rows become one; no peak is lost */

enum source { TREE, MACHINE, TREE_PERCENT, MACHINE_PERCENT };

enum {
    TIME,
    RSS,
    VSZ,
    PSS,
    SWAP,
    CPU_PERCENT,
    CPU,
    READ_COUNT,
    WRITE_COUNT,
    READ_BYTES,
    WRITE_BYTES,
    MINOR_FAULTS,
    MAJOR_FAULTS,
    VOLUNTARY_SWITCHES,
    INVOLUNTARY_SWITCHES,
    THREADS,
    PROCESSES,
    MACHINE_USED,
    MACHINE_CPU_PERCENT,
    MACHINE_SWAP_USED,
    LIVE_HEAP,
};

static const struct table_column columns[] = {
    [TIME] = {"time", UNIT_NS},
    [RSS] = {"rss", UNIT_BYTES},
    [VSZ] = {"vsz", UNIT_BYTES},
    [PSS] = {"pss", UNIT_BYTES},
    [SWAP] = {"swap", UNIT_BYTES},
    [CPU_PERCENT] = {"cpu_percent", UNIT_PERCENT},
    [CPU] = {"cpu", UNIT_NS},
    [READ_COUNT] = {"read_count", UNIT_COUNT},
    [WRITE_COUNT] = {"write_count", UNIT_COUNT},
    [READ_BYTES] = {"read_bytes", UNIT_BYTES},
    [WRITE_BYTES] = {"write_bytes", UNIT_BYTES},
    [MINOR_FAULTS] = {"minor_faults", UNIT_COUNT},
    [MAJOR_FAULTS] = {"major_faults", UNIT_COUNT},
    [VOLUNTARY_SWITCHES] = {"voluntary_switches", UNIT_COUNT},
    [INVOLUNTARY_SWITCHES] = {"involuntary_switches", UNIT_COUNT},
    [THREADS] = {"threads", UNIT_COUNT},
    [PROCESSES] = {"processes", UNIT_COUNT},
    [MACHINE_USED] = {"machine_used", UNIT_BYTES},
    [MACHINE_CPU_PERCENT] = {"machine_cpu_percent", UNIT_PERCENT},
    [MACHINE_SWAP_USED] = {"machine_swap_used", UNIT_BYTES},
    [LIVE_HEAP] = {"live_heap", UNIT_BYTES}, /* only where the trace has allocations */
};

static const struct {
    int column;
    enum source source;
    enum trace_metric metric;
} measured[] = {
    {RSS, TREE, METRIC_RSS},
    {VSZ, TREE, METRIC_VSZ},
    {PSS, TREE, METRIC_PSS},
    {SWAP, TREE, METRIC_SWAP},
    {CPU_PERCENT, TREE_PERCENT, METRIC_CPU_NS},
    {CPU, TREE, METRIC_CPU_NS},
    {READ_COUNT, TREE, METRIC_READ_CALLS},
    {WRITE_COUNT, TREE, METRIC_WRITE_CALLS},
    {READ_BYTES, TREE, METRIC_READ_BYTES},
    {WRITE_BYTES, TREE, METRIC_WRITE_BYTES},
    {MINOR_FAULTS, TREE, METRIC_MINOR_FAULTS},
    {MAJOR_FAULTS, TREE, METRIC_MAJOR_FAULTS},
    {VOLUNTARY_SWITCHES, TREE, METRIC_SWITCHES_WAITED},
    {INVOLUNTARY_SWITCHES, TREE, METRIC_SWITCHES_FORCED},
    {THREADS, TREE, METRIC_THREADS},
    {PROCESSES, TREE, METRIC_PROCESSES},
    {MACHINE_USED, MACHINE, METRIC_MACHINE_USED},
    {MACHINE_CPU_PERCENT, MACHINE_PERCENT, METRIC_MACHINE_CPU_BUSY},
    {MACHINE_SWAP_USED, MACHINE, METRIC_MACHINE_SWAP_USED},
};

struct timeline {
    const struct selection *options;
    struct points points;
};

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

    if (!heap_points_wanted(l->options, time_ns))
        return;
    c = points_add(&l->points);
    cell_number(&c[TIME], time_ns);
    for (int i = 0; i < COUNT(measured); i++)
        fill(&c[measured[i].column], r, i);
    heap_points_cell(&c[LIVE_HEAP], time_ns);
    points_done(&l->points);
}

static void begin(struct asked *q)
{
    struct timeline *l = q->state;

    l->options = q->options;
    l->points = (struct points){.answer = q->answer, .most = ROWS_MOST};
    l->points.table = answer_add(q->answer, "timeline", TABLE_TIMELINE, columns, COUNT(columns));
    recorded_listen(q->recorded, on_tick, l);
}

static void again(struct asked *q)
{
    heap_want_levels(&q->recorded->heap);
}

static int run(struct asked *q, struct err *err)
{
    struct timeline *l = q->state;
    struct table *table = l->points.table;
    struct heap *h = &q->recorded->heap;
    struct heap_points heap = {h, &l->points, LIVE_HEAP};

    (void)err;
    covered_answer(q->answer, h->run);
    heap_points_end(&heap);
    if (h->run->ticks == 0 && h->any)
        heap_points_alone(&heap);
    else if (h->run->ticks == 0)
        table->note = "The trace holds no sample of the tree.";
    else if (l->points.each > 1)
        table->note = "Too many samples for a table: each row is the largest of several.";
    return 0;
}

const struct question question_timeline = {
    .name = "timeline",
    .summary = "the tree and the machine at every sample",
    .group = QUESTION_OF_TRACE,
    .reads = RECORDED_HEAP,
    .state = sizeof(struct timeline),
    .begin = begin,
    .again = again,
    .run = run,
};
