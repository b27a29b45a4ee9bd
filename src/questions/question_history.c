/* question_history - every block by the moments between which it was born and died: what the report
 * page is made from, as tables. What lives at a moment k, and so at the peak, is the sum of the
 * rows with born <= k < died; it is exact where the recording is.
 */
#include "base/count.h"
#include "base/memory.h"
#include "model/heap_entries.h"
#include "questions/covered_answer.h"
#include "questions/heap_cells.h"
#include "questions/question.h"

#include <inttypes.h>

#define ROWS 1000 /* unless more are asked for, as formats do */

enum { MOMENT_TIME, MOMENT_NUMBER, MOMENT_LIVE, MOMENT_KIND };

static const struct table_column moment_columns[] = {
    [MOMENT_TIME] = {"time", UNIT_NS},
    [MOMENT_NUMBER] = {"moment", UNIT_ID},
    [MOMENT_LIVE] = {"live", UNIT_BYTES},
    [MOMENT_KIND] = {"kind", UNIT_TEXT},
};

enum { BORN, DIED, WITH_PROCESS, BLOCKS, BYTES, STACK };

static const struct table_column columns[] = {
    [BORN] = {"born", UNIT_ID}, /* up to this moment, and after the one before */
    [DIED] = {"died", UNIT_ID}, /* the same; absent: it lived at the end */
    [WITH_PROCESS] = {"with_process", UNIT_COUNT},
    [BLOCKS] = {"blocks", UNIT_COUNT},
    [BYTES] = {"bytes", UNIT_BYTES},
    [STACK] = {"stack", UNIT_STACK},
};

struct history {
    struct heap_edges edges;
    struct heap_labels labels; /* none are told apart */
    struct heap_entries entries;
};

static void begin(struct asked *q)
{
    struct history *s = q->state;

    s->labels.names = &q->recorded->names;
    heap_edges_start(&s->edges, &q->recorded->heap, trace_last_ns(q->recorded->trace), 0, 0);
    recorded_take_first(q->recorded, heap_edges_record, &s->edges);
}

static void again(struct asked *q)
{
    struct history *s = q->state;

    heap_edges_end(&s->edges);
    heap_entries_start(&s->entries, &s->edges, &q->recorded->heap, &s->labels);
    recorded_take_again(q->recorded, heap_entries_record, &s->entries, UINT64_MAX);
}

/* What lives at each moment, by the entries: where a free was taken back later, they are right. */
static void add_moments(struct answer *a, const struct history *s)
{
    static const char *const kinds[] = {[HEAP_EDGE_HIGH] = "high",
                                        [HEAP_EDGE_OWN] = "high of one process",
                                        [HEAP_EDGE_LOW] = "low",
                                        [HEAP_EDGE_NAMED] = "named"};
    struct table *t = answer_add(a, "moments", TABLE_TIMELINE, moment_columns,
                                 COUNT(moment_columns));
    uint64_t live[HEAP_EDGES_MOST];

    heap_entry_live(&s->entries.log, s->edges.count, live);
    for (int i = 0; i < s->edges.count; i++) {
        struct table_cell *c = table_add(a, t);

        cell_number(&c[MOMENT_NUMBER], (uint64_t)i);
        cell_number(&c[MOMENT_TIME], s->edges.list[i].time_ns);
        cell_number(&c[MOMENT_LIVE], live[i]);
        cell_text(&c[MOMENT_KIND], kinds[s->edges.list[i].kind]);
    }
}

static void put_row(struct table_cell *c, const struct history *s, const struct recorded *r,
                    const struct heap_entry *e)
{
    unsigned int died = HEAP_ENTRY_DEATH(e->death);
    uint64_t count = e->count > 0 ? (uint64_t)e->count : 0;

    cell_number(&c[BORN], e->birth);
    if (died != HEAP_ENTRY_ALIVE && died < (unsigned int)s->edges.count)
        cell_number(&c[DIED], died);
    cell_number(&c[WITH_PROCESS], e->death & HEAP_ENTRY_WITH_IT ? 1 : 0);
    cell_number(&c[BLOCKS], r->heap.sampled ? (count + 500) / 1000 : count);
    cell_number(&c[BYTES], e->bytes > 0 ? (uint64_t)e->bytes : 0);
    cell_stack(&c[STACK], frames_shared(&r->frames, s->entries.owners[e->owner].stack));
}

static int by_bytes(const void *left, const void *right)
{
    const struct heap_entry *a = left, *b = right;

    return a->bytes != b->bytes ? (a->bytes > b->bytes ? -1 : 1)
                                : (a->owner > b->owner) - (a->owner < b->owner);
}

/* All of them, or the largest. */
static void add_rows(struct asked *q, const struct history *s, struct table *t)
{
    const struct heap_entry_log *l = &s->entries.log;
    uint64_t most = q->options->rows ? q->options->rows : ROWS;

    if (l->count > most) {
        memory_sort(l->list, l->count, sizeof(*l->list), by_bytes);
        t->note = arena_printf(q->answer->arena,
                               "The %" PRIu64 " largest of %zu; --limit %zu shows all.", most,
                               l->count, l->count);
    }
    for (size_t i = 0; i < l->count && i < most; i++)
        put_row(table_add(q->answer, t), s, q->recorded, &l->list[i]);
}

static int run(struct asked *q, struct err *err)
{
    struct history *s = q->state;
    struct table *t;

    heap_entries_end(&s->entries);
    covered_answer(q->answer, &q->recorded->run);
    add_moments(q->answer, s);
    t = answer_add(q->answer, "history", TABLE_ROWS, columns, COUNT(columns));
    t->note = q->recorded->heap.sampled
                ? "Estimated from a sample of the blocks."
                : "What lives at a moment is exact; which of like blocks a free ended may not be.";
    add_rows(q, s, t);
    heap_entries_free(&s->entries);
    heap_labels_free(&s->labels);
    if (q->options->from_ns || q->options->to_ns || q->options->born)
        return err_set(err, "the history is of the whole recording: leave out what narrows it");
    return 0;
}

const struct question question_history = {
    .name = "history",
    .summary = "every block by the moments at which it was allocated and freed",
    .group = QUESTION_OF_ALLOCATIONS,
    .reads = RECORDED_COURSES | RECORDED_HEAP | RECORDED_FRAMES,
    .state = sizeof(struct history),
    .begin = begin,
    .again = again,
    .run = run,
};
