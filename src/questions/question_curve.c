/* question_curve - the live heap over time, finer than the samples of `timeline`: the most and the
 * least of equal stretches, from every event, so that no peak is lost however short it was.
 */
#include "base/count.h"
#include "model/heap_edges.h"
#include "questions/covered_answer.h"
#include "questions/question.h"

enum { TIME, HEAP_MOST, HEAP_LEAST };

static const struct table_column columns[] = {
    [TIME] = {"time", UNIT_NS}, /* when the stretch begins */
    [HEAP_MOST] = {"heap_most", UNIT_BYTES},
    [HEAP_LEAST] = {"heap_least", UNIT_BYTES},
};

static void begin(struct asked *q)
{
    struct heap_edges *g = q->state;

    heap_edges_start(g, &q->recorded->heap, trace_last_ns(q->recorded->trace), 0, 0);
    recorded_take_first(q->recorded, heap_edges_record, g);
}

static void again(struct asked *q)
{
    heap_edges_end(q->state);
    heap_want_levels(&q->recorded->heap);
}

static int run(struct asked *q, struct err *err)
{
    const struct heap_edges *g = q->state;
    struct heap *h = &q->recorded->heap;
    const struct selection *o = q->options;
    struct table *t = answer_add(q->answer, "curve", TABLE_TIMELINE, columns, COUNT(columns));

    (void)err;
    covered_answer(q->answer, &q->recorded->run);
    for (int i = 0; g->any && i < HEAP_EDGES_BINS; i++) {
        uint64_t time_ns = g->last_ns / HEAP_EDGES_BINS * (unsigned int)i;
        struct table_cell *c;

        if (time_ns < o->from_ns || (o->to_ns && time_ns > o->to_ns))
            continue;
        c = table_add(q->answer, t);
        cell_number(&c[TIME], time_ns);
        cell_number(&c[HEAP_MOST], heap_level(h, g->high[i]));
        cell_number(&c[HEAP_LEAST], heap_level(h, g->low[i]));
    }
    if (!g->any)
        t->note = "The trace holds no allocation.";
    return 0;
}

const struct question question_curve = {
    .name = "curve",
    .summary = "the live heap over time: the most and the least of 1,200 equal stretches",
    .group = QUESTION_OF_ALLOCATIONS,
    .reads = RECORDED_HEAP | RECORDED_COURSES,
    .state = sizeof(struct heap_edges),
    .begin = begin,
    .again = again,
    .run = run,
};
