/* question_processes - every process of a run, as a tree, with all that is known of it. */
#include "base/count.h"
#include "model/covered.h"
#include "model/heap_rows.h"
#include "model/process_tree.h"
#include "questions/cells.h"
#include "questions/covered_answer.h"
#include "questions/heap_cells.h"
#include "questions/question.h"

#include <string.h>

enum {
    DEPTH,
    NAME,
    PID,
    PARENT_PID,
    RANK,
    LOCAL_RANK,
    WORLD_SIZE,
    FROM,
    TO,
    ENDED,
    PEAK_RSS,
    PEAK_VSZ,
    PEAK_PSS,
    PEAK_SWAP,
    CPU,
    CPU_USER,
    CPU_SYSTEM,
    MINOR_FAULTS,
    MAJOR_FAULTS,
    THREADS,
    VOLUNTARY_SWITCHES,
    INVOLUNTARY_SWITCHES,
    READ_COUNT,
    WRITE_COUNT,
    READ_BYTES,
    WRITE_BYTES,
    READ_CHARS,
    WRITE_CHARS,
    COMMAND,
    HEAP_FROM,
    PEAK_HEAP = HEAP_FROM,
    PEAK_HEAP_ERROR_PERCENT,
    PEAK_HEAP_TIME,
    HEAP_ALLOCATED,
    ALLOCATIONS,
    ALLOCATIONS_PER_SECOND,
    TEMPORARY_PERCENT,
    ALIVE_AT_END,
    UNKNOWN_FREES,
    FREES_OF_INHERITED_BLOCKS,
    RECORDED,
    HELD_MOST_AT_PEAK,
};

static const struct table_column columns[] = {
    [DEPTH] = {"depth", UNIT_DEPTH},
    [NAME] = {"name", UNIT_TEXT},
    [PID] = {"pid", UNIT_ID},
    [PARENT_PID] = {"parent_pid", UNIT_ID, .detail = true},
    [RANK] = {"rank", UNIT_ID}, /* of a distributed program; shown where there are any */
    [LOCAL_RANK] = {"local_rank", UNIT_ID, .detail = true},
    [WORLD_SIZE] = {"world_size", UNIT_ID, .detail = true},
    [FROM] = {"from", UNIT_NS, .detail = true},
    [TO] = {"to", UNIT_NS, .detail = true},
    [ENDED] = {"ended", UNIT_TEXT, .detail = true},
    [PEAK_RSS] = {"peak_rss", UNIT_BYTES},
    [PEAK_VSZ] = {"peak_vsz", UNIT_BYTES, .detail = true},
    [PEAK_PSS] = {"peak_pss", UNIT_BYTES, .detail = true},
    [PEAK_SWAP] = {"peak_swap", UNIT_BYTES, .detail = true},
    [CPU] = {"cpu", UNIT_NS},
    [CPU_USER] = {"cpu_user", UNIT_NS, .detail = true},
    [CPU_SYSTEM] = {"cpu_system", UNIT_NS, .detail = true},
    [MINOR_FAULTS] = {"minor_faults", UNIT_COUNT, .detail = true},
    [MAJOR_FAULTS] = {"major_faults", UNIT_COUNT, .detail = true},
    [THREADS] = {"threads", UNIT_COUNT, .detail = true},
    [VOLUNTARY_SWITCHES] = {"voluntary_switches", UNIT_COUNT, .detail = true},
    [INVOLUNTARY_SWITCHES] = {"involuntary_switches", UNIT_COUNT, .detail = true},
    [READ_COUNT] = {"read_count", UNIT_COUNT, .detail = true},
    [WRITE_COUNT] = {"write_count", UNIT_COUNT, .detail = true},
    [READ_BYTES] = {"read_bytes", UNIT_BYTES, .detail = true},
    [WRITE_BYTES] = {"write_bytes", UNIT_BYTES, .detail = true},
    [READ_CHARS] = {"read_chars", UNIT_BYTES, .detail = true},
    [WRITE_CHARS] = {"write_chars", UNIT_BYTES, .detail = true},
    [COMMAND] = {"command", UNIT_TEXT},
    /* Only where the trace has allocations, or tried to: */
    [PEAK_HEAP] = {"peak_heap", UNIT_BYTES},
    [PEAK_HEAP_ERROR_PERCENT] = {"peak_heap_error_percent", UNIT_PERCENT, .detail = true},
    [PEAK_HEAP_TIME] = {"peak_heap_time", UNIT_NS, .detail = true},
    [HEAP_ALLOCATED] = {"heap_allocated", UNIT_BYTES},
    [ALLOCATIONS] = {"allocations", UNIT_COUNT, .detail = true},
    [ALLOCATIONS_PER_SECOND] = {"allocations_per_second", UNIT_COUNT, .detail = true},
    [TEMPORARY_PERCENT] = {"temporary_percent", UNIT_PERCENT, .detail = true},
    [ALIVE_AT_END] = {"alive_at_end", UNIT_BYTES, .detail = true},
    [UNKNOWN_FREES] = {"unknown_frees", UNIT_COUNT, .detail = true},
    [FREES_OF_INHERITED_BLOCKS] = {"frees_of_inherited_blocks", UNIT_COUNT, .detail = true},
    [RECORDED] = {"recorded", UNIT_TEXT, .detail = true},
    [HELD_MOST_AT_PEAK] = {"held_most_at_peak", UNIT_TEXT},
};

enum how { MOST, OWN };

/* The columns that are one metric each. */
static const struct {
    int column;
    enum trace_metric metric;
    enum how how;
} measured[] = {
    {PEAK_PSS, METRIC_PSS, MOST},
    {PEAK_SWAP, METRIC_SWAP, MOST},
    {CPU, METRIC_CPU_NS, OWN},
    {CPU_USER, METRIC_USER_NS, OWN},
    {CPU_SYSTEM, METRIC_SYSTEM_NS, OWN},
    {MINOR_FAULTS, METRIC_MINOR_FAULTS, OWN},
    {MAJOR_FAULTS, METRIC_MAJOR_FAULTS, OWN},
    {THREADS, METRIC_THREADS, MOST},
    {VOLUNTARY_SWITCHES, METRIC_SWITCHES_WAITED, OWN},
    {INVOLUNTARY_SWITCHES, METRIC_SWITCHES_FORCED, OWN},
    {READ_COUNT, METRIC_READ_CALLS, OWN},
    {WRITE_COUNT, METRIC_WRITE_CALLS, OWN},
    {READ_BYTES, METRIC_READ_BYTES, OWN},
    {WRITE_BYTES, METRIC_WRITE_BYTES, OWN},
    {READ_CHARS, METRIC_READ_CHARS, OWN},
    {WRITE_CHARS, METRIC_WRITE_CHARS, OWN},
};

static void fill_ranks(struct table_cell *c, const struct run_process *p)
{
    static const int columns_of[] = {
        [RANK_RANK] = RANK, [RANK_LOCAL] = LOCAL_RANK, [RANK_WORLD] = WORLD_SIZE};

    for (int i = 0; i < RANK_NUMBERS; i++)
        if (p->ranks[i].known)
            cell_number(&c[columns_of[i]], p->ranks[i].number);
}

static void fill_process(struct answer *a, struct table_cell *c, const struct run_process *p)
{
    cell_number(&c[DEPTH], (uint64_t)p->depth);
    cell_text(&c[NAME], p->name);
    cells_pid(&c[PID], p);
    if (p->parent)
        cells_pid(&c[PARENT_PID], p->parent);
    cell_number(&c[FROM], p->from_ns);
    if (p->ended)
        cell_number(&c[TO], p->to_ns);
    cell_text(&c[ENDED], process_tree_end(a->arena, p));
    cells_peak(&c[PEAK_RSS], p);
    cells_most(&c[PEAK_VSZ], p, METRIC_VSZ_PEAK);
    if (!c[PEAK_VSZ].present)
        cells_most(&c[PEAK_VSZ], p, METRIC_VSZ);
    for (int i = 0; i < COUNT(measured); i++)
        (measured[i].how == MOST ? cells_most : cells_own)(&c[measured[i].column], p,
                                                           measured[i].metric);
    cell_text(&c[COMMAND], p->command);
}

/* ---- metrics that no column above was written for ---- */

struct more {
    struct table_column *columns; /* all that the table has: those above, up to `from`, and these */
    int from, count;
    enum trace_metric metrics[METRICS_OF_PROCESS];
};

static bool has_column(enum trace_metric metric)
{
    for (int i = 0; i < COUNT(measured); i++)
        if (measured[i].metric == metric)
            return true;
    return metric == METRIC_RSS || metric == METRIC_RSS_PEAK || metric == METRIC_VSZ ||
           metric == METRIC_VSZ_PEAK; /* the peaks of both */
}

static bool is_known(const struct run *r, enum trace_metric metric)
{
    for (size_t i = 0; i < r->process_count; i++)
        if (metrics_has(&r->processes[i]->most, metrics_place(metric)))
            return true;
    return false;
}

static struct table_column more_column(struct answer *a, enum trace_metric metric)
{
    static const enum table_unit units[] = {[TRACE_UNIT_BYTES] = UNIT_BYTES,
                                            [TRACE_UNIT_NS] = UNIT_NS,
                                            [TRACE_UNIT_COUNT] = UNIT_COUNT,
                                            [TRACE_UNIT_PERMILLE] = UNIT_COUNT};
    enum trace_unit unit = TRACE_UNIT_COUNT;
    const char *name = metrics_name(metric, &unit);
    const char *peak = metrics_counter(metrics_place(metric)) ? "" : "peak_";

    return (struct table_column){arena_printf(a->arena, "%s%s", peak, name), units[unit],
                                 .detail = true};
}

static struct more find_more(struct answer *a, const struct run *r, int from)
{
    struct more m = {.from = from};

    m.columns = arena_alloc(a->arena, (COUNT(columns) + METRICS_OF_PROCESS) * sizeof(*m.columns));
    memcpy(m.columns, columns, (size_t)from * sizeof(*columns));
    m.columns[RANK].detail = !r->ranked;
    for (int i = TRACE_FIRST_OF_PROCESS + 1; i < METRICS_OF_PROCESS; i++) {
        enum trace_metric metric = (enum trace_metric)i;

        if (has_column(metric) || !is_known(r, metric))
            continue;
        m.columns[from + m.count] = more_column(a, metric);
        m.metrics[m.count++] = metric;
    }
    return m;
}

static void fill_more(struct table_cell *c, const struct run_process *p, const struct more *m)
{
    for (int i = 0; i < m->count; i++)
        (metrics_counter(metrics_place(m->metrics[i])) ? cells_own : cells_most)(&c[m->from + i], p,
                                                                                 m->metrics[i]);
}

static const char *how_recorded(const struct heap *h, const struct run_process *p,
                                const struct heap_process *own)
{
    const char *how = h->exact ? "exact" : "sampled"; /* it has but freed what others allocated */

    if (p->unrecorded)
        return p->unrecorded;
    if (!own)
        return p->recorded ? lacking_said(&p->lacking, h->arena, "nothing was allocated") : NULL;
    if (p->since)
        how = exact_since_said(p->since, false, h->arena);
    else if (h->run->whole_from)
        how = covered_whole(h->run);
    else if (own->samples)
        how = own->exact ? "exact and sampled" : "sampled";
    return lacking_said(&p->lacking, h->arena, how);
}

static void fill_heap(struct table_cell *c, struct heap *h, const struct run_process *p)
{
    const struct heap_process *own = heap_process_of(h, p->number);
    const struct heap_sums *s = own ? &own->sums : NULL;
    struct table_frame site;

    cell_text(&c[RECORDED], how_recorded(h, p, own));
    if (!own)
        return;
    cell_number(&c[PEAK_HEAP], heap_level(h, own->peak.bytes));
    heap_cell_error(&c[PEAK_HEAP_ERROR_PERCENT], &own->peak);
    cell_number(&c[PEAK_HEAP_TIME], own->peak_ns);
    heap_cell_bytes(&c[HEAP_ALLOCATED], &s->allocated);
    heap_cell_blocks(&c[ALLOCATIONS], &s->allocated);
    if (own->to_ns > own->from_ns)
        cell_rounded(&c[ALLOCATIONS_PER_SECOND],
                     (double)s->allocated.milliblocks * 1e6 / (double)(own->to_ns - own->from_ns));
    if (!own->samples || h->temporary_known)
        heap_cell_percent(&c[TEMPORARY_PERCENT], (double)s->temporary.milliblocks,
                          (double)s->allocated.milliblocks);
    heap_cell_bytes(&c[ALIVE_AT_END], &s->live);
    cell_number(&c[UNKNOWN_FREES], own->unknown_frees);
    cell_number(&c[FREES_OF_INHERITED_BLOCKS], own->heir_frees);
    if (own->peak_stack) {
        site = frames_site(h->frames, own->peak_stack);
        cell_text(&c[HELD_MOST_AT_PEAK], table_frame_text(h->arena, &site));
    }
}

static const char *note(const struct answer *a, const struct heap *h)
{
    return arena_printf(
        a->arena,
        "Peaks of rss and vsz are the kernel's own marks where they could be read%s; "
        "times are since the recording began; what a process used is "
        "known up to the kernel's record of its exit, where it gave one (to root) or we waited for "
        "it, else up to the last sample of it: then it is at least that.%s%s",
        covered_since(h->run) ? ", or, of one that ran before the attach and was "
                                "larger then, the largest sample since"
                              : "",
        h->heir_frees ? " Inherited blocks are what the parent had allocated "
                        "before it forked."
                      : "",
        h->unknown_frees ? " Unknown frees are of blocks older than the recording, "
                           "from a pause of it, or whose record was lost."
                         : "");
}

static void again(struct asked *q)
{
    heap_want_levels(&q->recorded->heap);
}

static int run(struct asked *q, struct err *err)
{
    struct answer *a = q->answer;
    struct heap *h = &q->recorded->heap;
    bool with_heap = h->any || h->run->unrecorded.count;
    struct more more = find_more(a, h->run, with_heap ? COUNT(columns) : HEAP_FROM);
    struct table *table = answer_add(a, "processes", TABLE_ROWS, more.columns,
                                     more.from + more.count);

    (void)err;
    covered_answer(a, h->run);
    for (const struct run_process *p = h->run->roots; p; p = process_tree_next(p)) {
        struct table_cell *c = table_add(a, table);

        fill_process(a, c, p);
        fill_ranks(c, p);
        fill_more(c, p, &more);
        if (with_heap)
            fill_heap(c, h, p);
    }
    table->note = h->run->process_count ? note(a, h) : "The trace holds no process.";
    return 0;
}

const struct question question_processes = {
    .name = "processes",
    .summary = "every process as a tree, with all its totals and peaks",
    .group = QUESTION_OF_TRACE,
    .reads = RECORDED_HEAP,
    .again = again,
    .run = run,
};
