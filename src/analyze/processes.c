/* processes - every process of a run, as a tree, with all that is known of it. */
#include "analyze/cells.h"
#include "analyze/covered.h"
#include "analyze/heap_rows.h"
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
    /* Only where the trace has allocations, or tried to: */
    {"peak_heap", UNIT_BYTES},
    {"peak_heap_error_percent", UNIT_PERCENT},
    {"peak_heap_time", UNIT_NS},
    {"heap_allocated", UNIT_BYTES},
    {"allocations", UNIT_COUNT},
    {"allocations_per_second", UNIT_COUNT},
    {"temporary_percent", UNIT_PERCENT},
    {"alive_at_end", UNIT_BYTES},
    {"unknown_frees", UNIT_COUNT},
    {"frees_of_inherited_blocks", UNIT_COUNT},
    {"recorded", UNIT_TEXT},
    {"held_most_at_peak", UNIT_TEXT},
};

#define MEASURED_FROM 9

#define COMMAND (MEASURED_FROM + COUNT(measured))
#define HEAP_FROM (COMMAND + 1)
#define HEAP_COLUMNS 12

_Static_assert(COUNT(columns) == HEAP_FROM + HEAP_COLUMNS, "a column lacks its metric");

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
    cell_text(&c[COMMAND], p->command);
}

static const char *how_recorded(const struct heap *h, const struct run_process *p,
                                const struct heap_process *own)
{
    if (p->unrecorded)
        return p->unrecorded;
    if (!own)
        return heap_recorded(h, p->number) ? "nothing was allocated" : NULL;
    return own->samples ? "sampled" : "exact";
}

static void fill_heap(struct table_cell *c, const struct heap *h, const struct run_process *p)
{
    const struct heap_process *own = heap_process_of(h, p->number);
    const struct heap_sums *s = own ? &own->sums : NULL;
    struct table_frame site;

    cell_text(&c[10], how_recorded(h, p, own));
    if (!own)
        return;
    heap_cell_bytes(&c[0], &own->peak);
    heap_cell_error(&c[1], &own->peak);
    cell_number(&c[2], own->peak_ns);
    heap_cell_bytes(&c[3], &s->allocated);
    heap_cell_blocks(&c[4], &s->allocated);
    if (own->to_ns > own->from_ns)
        cell_rounded(&c[5],
                     (double)s->allocated.milliblocks * 1e6 / (double)(own->to_ns - own->from_ns));
    if (!own->samples || h->temporary_known)
        heap_cell_percent(&c[6], (double)s->temporary.milliblocks,
                          (double)s->allocated.milliblocks);
    heap_cell_bytes(&c[7], &s->live);
    cell_number(&c[8], own->unknown_frees);
    cell_number(&c[9], own->heir_frees);
    if (own->peak_stack) {
        site = frames_site(&h->frames, own->peak_stack);
        cell_text(&c[11], table_frame_text(h->run.names.arena, &site));
    }
}

static const char *note(const struct answer *a, const struct heap *h)
{
    return arena_printf(a->arena,
                        "Peaks of rss and vsz are the kernel's own marks where they could be read; "
                        "times are since the recording began; what a process used is "
                        "known up to the last sample of it.%s%s",
                        h->heir_frees ? " Inherited blocks are what the parent had allocated "
                                        "before it forked."
                                      : "",
                        h->unknown_frees ? " Unknown frees are of blocks older than the recording, "
                                           "from a pause of it, or whose record was lost."
                                         : "");
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    struct table *table = answer_add(a, "processes", TABLE_ROWS, columns, HEAP_FROM);
    struct heap h;
    bool with_heap;

    (void)err;
    heap_read(&h, a->arena, t, o, NULL, NULL);
    covered_answer(a, &h.run);
    with_heap = h.any || h.run.unrecorded.count;
    if (with_heap)
        table->width = COUNT(columns);
    for (const struct run_process *p = h.run.roots; p; p = process_tree_next(p)) {
        struct table_cell *c = table_add(a, table);

        fill_process(a, c, p);
        if (with_heap)
            fill_heap(&c[HEAP_FROM], &h, p);
    }
    table->note = h.run.process_count ? note(a, &h) : "The trace holds no process.";
    heap_free(&h);
    return 0;
}

const struct question question_processes = {
    .name = "processes",
    .summary = "every process as a tree, with all its totals and peaks",
    .run = run,
};
