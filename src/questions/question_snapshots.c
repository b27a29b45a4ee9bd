/* question_snapshots - one row for each moment that was named (marks, snapshots, where regions
 * begin and end): what the allocator had, what the process was measured with, and what devices
 * held.
 */
#include "base/count.h"
#include "model/snapshots.h"
#include "model/step_heap.h"
#include "questions/covered_answer.h"
#include "questions/heap_cells.h"
#include "questions/question.h"

#include <inttypes.h>

#define ROWS 100

enum {
    TIME,
    NAME,
    KIND,
    LIVE_HEAP,
    ERROR_PERCENT,
    BLOCKS,
    ALLOCATED,
    POOL_RESERVED,
    POOL_USED,
    RSS,
    PSS,
    THREADS,
    CPU,
    DEVICE_ALLOCATED,
    DEVICE_OURS,
    DEVICE_USED,
    MEASURED,
    PID,
};

static const struct table_column columns[] = {
    [TIME] = {"time", UNIT_NS},
    [NAME] = {"name", UNIT_TEXT},
    [KIND] = {"kind", UNIT_TEXT},
    [LIVE_HEAP] = {"live_heap", UNIT_BYTES},
    [ERROR_PERCENT] = {"error_percent", UNIT_PERCENT, .detail = true},
    [BLOCKS] = {"blocks", UNIT_COUNT, .detail = true},
    [ALLOCATED] = {"allocated", UNIT_BYTES}, /* so far */
    [POOL_RESERVED] = {"pool_reserved", UNIT_BYTES},
    [POOL_USED] = {"pool_used", UNIT_BYTES},
    [RSS] = {"rss", UNIT_BYTES},
    [PSS] = {"pss", UNIT_BYTES, .detail = true},
    [THREADS] = {"threads", UNIT_COUNT, .detail = true},
    [CPU] = {"cpu", UNIT_NS},
    [DEVICE_ALLOCATED] = {"device_allocated", UNIT_BYTES}, /* by the process's own calls */
    [DEVICE_OURS] = {"device_ours", UNIT_BYTES, .detail = true},
    [DEVICE_USED] = {"device_used", UNIT_BYTES},
    [MEASURED] = {"measured", UNIT_NS, .detail = true}, /* when rss ... cpu were */
    [PID] = {"pid", UNIT_ID},
};

struct state {
    struct snapshots rows;
    struct step_heap heap;
    bool wanted;
};

static const char *kind_text(uint64_t kind)
{
    switch (kind) {
    case TRACE_MARK_SNAPSHOT:
        return "snapshot";
    case SNAPSHOT_REGION:
        return "region begins";
    case SNAPSHOT_REGION_END:
        return "region ends";
    default:
        return "mark";
    }
}

static void put_heap(const struct state *s, struct table_cell *c, const struct named_moment *m)
{
    struct heap_amount live;
    struct step_sums sums;

    if (!s->wanted || !step_heap_at(&s->heap, m->process, m->time_ns, &live))
        return;
    heap_cell_bytes(&c[LIVE_HEAP], &live);
    heap_cell_error(&c[ERROR_PERCENT], &live);
    heap_cell_blocks(&c[BLOCKS], &live);
    if (m->process && step_heap_between(&s->heap, m->process, 0, m->time_ns, &sums))
        heap_cell_bytes(&c[ALLOCATED], &sums.allocated);
}

static void put_metric(struct table_cell *c, const struct metrics *m, enum trace_metric metric)
{
    uint64_t value;

    if (metrics_get(m, metric, &value))
        cell_number(c, value);
}

static void put_cpu(struct table_cell *c, const struct metrics *m)
{
    uint64_t all, user, system;

    if (metrics_get(m, METRIC_CPU_NS, &all))
        cell_number(c, all);
    else if (metrics_get(m, METRIC_USER_NS, &user) && metrics_get(m, METRIC_SYSTEM_NS, &system))
        cell_number(c, user + system);
}

static void put_process(struct table_cell *c, const struct snapshot *row)
{
    if (row->measured_ns == UINT64_MAX)
        return;
    put_metric(&c[RSS], &row->process, METRIC_RSS);
    put_metric(&c[PSS], &row->process, METRIC_PSS);
    put_metric(&c[THREADS], &row->process, METRIC_THREADS);
    put_cpu(&c[CPU], &row->process);
    cell_number(&c[MEASURED], row->measured_ns);
}

static void put_memory(struct table_cell *c, const struct snapshot *row)
{
    if (row->spaces.pools) {
        cell_number(&c[POOL_RESERVED], row->spaces.reserved);
        cell_number(&c[POOL_USED], row->spaces.used);
    }
    if (row->spaces.known)
        cell_number(&c[DEVICE_ALLOCATED], row->spaces.device);
    if (row->device_ours_known)
        cell_number(&c[DEVICE_OURS], row->device_ours);
    if (row->device_known)
        cell_number(&c[DEVICE_USED], row->device_used);
}

static uint64_t pid_of(const struct run *r, uint64_t process)
{
    for (size_t i = 0; i < r->process_count; i++)
        if (r->processes[i]->number == process)
            return r->processes[i]->pid;
    return 0;
}

static void put_row(struct asked *q, struct table *t, size_t i)
{
    const struct state *s = q->state;
    const struct named_moment *m = &s->rows.moments.list[i];
    const struct snapshot *row = &s->rows.rows[i];
    struct table_cell *c = table_add(q->answer, t);
    uint64_t pid = m->process ? pid_of(&q->recorded->run, m->process) : 0;

    cell_number(&c[TIME], m->time_ns);
    cell_text(&c[NAME], m->name);
    cell_text(&c[KIND], kind_text(m->kind));
    put_heap(s, c, m);
    put_process(c, row);
    put_memory(c, row);
    if (pid)
        cell_number(&c[PID], pid);
}

static const char *note(struct asked *q, size_t left)
{
    const struct state *s = q->state;

    if (!s->rows.moments.count)
        return "The program has named no moment: see tidemark.mark(), tidemark.snapshot() and "
               "tidemark.region(), or 'tidemark snapshot PID'.";
    if (left + s->rows.left_out)
        return arena_printf(q->answer->arena, "The first; %" PRIu64 " more came later.",
                            left + s->rows.left_out);
    return NULL;
}

static void begin(struct asked *q)
{
    struct state *s = q->state;
    const struct selection *o = q->options;

    snapshots_start(&s->rows, &q->recorded->names, &q->recorded->threads, o->from_ns,
                    o->to_ns ? o->to_ns : UINT64_MAX);
    recorded_take_first(q->recorded, snapshots_take, &s->rows);
}

static void again(struct asked *q)
{
    struct state *s = q->state;

    s->wanted = q->recorded->heap.any;
    if (s->wanted)
        step_heap_want(&s->heap, &q->recorded->heap, &s->rows.moments);
}

static int run(struct asked *q, struct err *err)
{
    struct state *s = q->state;
    struct table *t = answer_add(q->answer, "snapshots", TABLE_ROWS, columns, COUNT(columns));
    uint64_t most = q->options->rows ? q->options->rows : ROWS;
    size_t count = s->rows.moments.count, shown = most < count ? (size_t)most : count;

    (void)err;
    if (s->wanted)
        step_heap_end(&s->heap);
    for (size_t i = 0; i < shown; i++)
        put_row(q, t, i);
    t->note = note(q, count - shown);
    covered_answer(q->answer, &q->recorded->run);
    if (s->wanted)
        step_heap_free(&s->heap);
    snapshots_free(&s->rows);
    return 0;
}

const struct question question_snapshots = {
    .name = "snapshots",
    .summary = "one row for each named moment: allocator, process and devices side by side",
    .group = QUESTION_OF_ALLOCATIONS,
    .about =
        "snapshots has a row for each mark, each snapshot that the program (tidemark.snapshot()) or 'tidemark snapshot PID' took, and each beginning and end of a region: the live heap of its process at that moment, and what had been allocated up to then; what its pools had reserved and handed out, where they are told; its resident memory, threads and CPU time, as of the sample nearest to it (measured says when: for a snapshot one is taken at once); what it had allocated on devices, and what these held in all. A snapshot of 'tidemark snapshot' is of all processes.",
    .reads = RECORDED_HEAP | RECORDED_RUN,
    .state = sizeof(struct state),
    .begin = begin,
    .again = again,
    .run = run,
};
