/* processes - every process of a run, as a tree, with all that is known of it. */
#include "analyze/cells.h"
#include "analyze/process_tree.h"
#include "analyze/question.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

enum how { MOST, OWN };

/* The columns that are one metric each, after those that fill_process writes itself. */
static const struct {
    enum trace_metric metric;
    enum how how;
} measured[] = {
    {METRIC_PSS, MOST},
    {METRIC_SWAP, MOST},
    {METRIC_CPU_NS, OWN},
    {METRIC_USER_NS, OWN},
    {METRIC_SYSTEM_NS, OWN},
    {METRIC_MINOR_FAULTS, OWN},
    {METRIC_MAJOR_FAULTS, OWN},
    {METRIC_THREADS, MOST},
    {METRIC_SWITCHES_WAITED, OWN},
    {METRIC_SWITCHES_FORCED, OWN},
    {METRIC_READ_CALLS, OWN},
    {METRIC_WRITE_CALLS, OWN},
    {METRIC_READ_BYTES, OWN},
    {METRIC_WRITE_BYTES, OWN},
    {METRIC_READ_CHARS, OWN},
    {METRIC_WRITE_CHARS, OWN},
};

static const struct table_column columns[] = {
    {"depth", UNIT_DEPTH},
    {"name", UNIT_TEXT},
    {"pid", UNIT_ID},
    {"parent_pid", UNIT_ID},
    {"from", UNIT_NS},
    {"to", UNIT_NS},
    {"ended", UNIT_TEXT},
    {"peak_rss", UNIT_BYTES},
    {"peak_vsz", UNIT_BYTES},
    {"peak_pss", UNIT_BYTES},
    {"peak_swap", UNIT_BYTES},
    {"cpu", UNIT_NS},
    {"cpu_user", UNIT_NS},
    {"cpu_system", UNIT_NS},
    {"minor_faults", UNIT_COUNT},
    {"major_faults", UNIT_COUNT},
    {"threads", UNIT_COUNT},
    {"voluntary_switches", UNIT_COUNT},
    {"involuntary_switches", UNIT_COUNT},
    {"read_count", UNIT_COUNT},
    {"write_count", UNIT_COUNT},
    {"read_bytes", UNIT_BYTES},
    {"write_bytes", UNIT_BYTES},
    {"read_chars", UNIT_BYTES},
    {"write_chars", UNIT_BYTES},
    {"command", UNIT_TEXT},
};

#define MEASURED_FROM 9

_Static_assert(COUNT(columns) == MEASURED_FROM + COUNT(measured) + 1, "a column lacks its metric");

static void fill_process(struct answer *a, struct table_cell *c, const struct run_process *p)
{
    cell_number(&c[0], (uint64_t)p->depth);
    cell_text(&c[1], p->name);
    cell_number(&c[2], p->pid);
    if (p->parent)
        cell_number(&c[3], p->parent->pid);
    cell_number(&c[4], p->from_ns);
    if (p->ended)
        cell_number(&c[5], p->to_ns);
    cell_text(&c[6], process_tree_end(a->arena, p));
    cells_peak(&c[7], p);
    cells_most(&c[8], p, METRIC_VSZ_PEAK);
    if (!c[8].present)
        cells_most(&c[8], p, METRIC_VSZ);
    for (int i = 0; i < COUNT(measured); i++)
        (measured[i].how == MOST ? cells_most : cells_own)(&c[MEASURED_FROM + i], p,
                                                           measured[i].metric);
    cell_text(&c[COUNT(columns) - 1], p->command);
}

static int run(struct trace *t, struct answer *a, struct err *err)
{
    struct table *table = answer_add(a, "processes", TABLE_ROWS, columns, COUNT(columns));
    struct run r;

    (void)err;
    run_read(&r, a->arena, t, NULL, NULL);
    a->health = r.health;
    for (const struct run_process *p = r.roots; p; p = process_tree_next(p))
        fill_process(a, table_add(a, table), p);
    table->note = r.process_count ? "Peaks of rss and vsz are the kernel's own marks where they "
                                    "could be read; times are since the recording began."
                                  : "The trace holds no process.";
    return 0;
}

const struct question question_processes = {
    .name = "processes",
    .summary = "every process as a tree, with all its totals and peaks",
    .run = run,
};
