/* leaks_per_step - see leaks_per_step.h. */
#include "questions/leaks_per_step.h"

#include "base/count.h"
#include "base/text.h"
#include "questions/heap_cells.h"

#include <inttypes.h>
#include <math.h>

#define ROWS 30

enum {
    PER_STEP,
    PACE,
    GREW_IN,
    HELD_FIRST,
    HELD_LAST,
    ERROR,
    KIND,
    OP,
    PHASE,
    MODULE,
    SITE,
    STACK,
};

static const struct table_column columns[] = {
    [PER_STEP] = {"growth_per_step", UNIT_BYTES},
    [PACE] = {"pace", UNIT_TEXT},
    [GREW_IN] = {"grew_in", UNIT_COUNT, .detail = true},
    [HELD_FIRST] = {"held_first", UNIT_BYTES, .detail = true},
    [HELD_LAST] = {"held_last", UNIT_BYTES},
    [ERROR] = {"change_error", UNIT_BYTES, .detail = true},
    [KIND] = {"kind", UNIT_TEXT},
    [OP] = {"op", UNIT_TEXT},
    [PHASE] = {"phase", UNIT_TEXT, .detail = true},
    [MODULE] = {"module", UNIT_TEXT, .detail = true},
    [SITE] = {"site", UNIT_TEXT},
    [STACK] = {"stack", UNIT_STACK},
};

void leaks_per_step_want(struct asked *q, struct leaks_per_step *s)
{
    tensor_want(q, &s->tensors);
    step_growth_want(&s->growth, &q->recorded->heap, &q->recorded->moments);
}

/* ---- rows ---- */

static uint64_t weight(const struct heap_stack_sum *s)
{
    return s->held;
}

/* What a stack has gained in all is what it is ranked by, as a slope may be 0 where it jumps. */
static double per_step(const struct step_growth *g, const struct step_verdict *v)
{
    const struct step_points *p = &g->points[v->place - 1];
    size_t steps = p->steps[p->count - 1] - p->steps[0];

    return v->per_step > 0 || !steps ? v->per_step : (double)(v->last - v->first) / (double)steps;
}

static void rank(struct heap_row *row, void *context)
{
    struct leaks_per_step *s = context;
    struct step_verdict v;

    row->rank = -1;
    if (!step_growth_of(&s->growth, row, &v) || v.trend != STEP_GROWING)
        return;
    row->rank = 1;
    row->weight = 1 + text_rounded(per_step(&s->growth, &v) * 1000);
}

/* What most of a stack's tensors are that are held at a time. */
static const char *kind_of(const struct tensors *t, uint64_t stack, uint64_t time_ns)
{
    uint64_t held[TENSOR_KINDS] = {0};
    int largest = 0;

    for (size_t i = 0; i < t->count; i++)
        if (t->list[i].stack == stack && t->list[i].born_ns < time_ns &&
            t->list[i].died_ns >= time_ns)
            held[t->list[i].kind] += t->list[i].bytes;
    for (int k = 0; k < TENSOR_KINDS; k++)
        largest = held[k] > held[largest] ? k : largest;
    return held[largest] ? tensor_kind_text((enum tensor_kind)largest) : NULL;
}

static void put_ops(struct table_cell *c, struct leaks_per_step *s, const struct heap_row *row,
                    uint64_t time_ns)
{
    const struct op_stack *from = op_stacks_get(&s->tensors.stacks, row->stack);

    if (!from->framework)
        return;
    cell_text(&c[OP], from->op);
    cell_text(&c[PHASE], op_phase_text(from->phase));
    cell_text(&c[MODULE], from->modules);
    if (from->tensor)
        cell_text(&c[KIND], kind_of(&s->tensors.tensors, row->stack, time_ns));
}

static void put_row(struct asked *q, struct leaks_per_step *s, struct table *t,
                    const struct heap_rows *rows, const struct heap_row *row)
{
    const struct heap *h = &q->recorded->heap;
    const struct step_points *points;
    struct step_verdict v;
    struct table_cell *c;

    if (row->rank < 0 || !step_growth_of(&s->growth, row, &v))
        return;
    points = &s->growth.points[v.place - 1];
    c = table_add(q->answer, t);
    cell_rounded(&c[PER_STEP], per_step(&s->growth, &v));
    cell_text(&c[PACE], 2 * v.rises >= points->count ? "steady" : "now and then");
    if (points->count == points->loop->stacked_count)
        cell_number(&c[GREW_IN], v.rises);
    cell_number(&c[HELD_FIRST], v.first);
    cell_number(&c[HELD_LAST], v.last);
    if (v.variance > 0)
        cell_rounded(&c[ERROR], sqrt(v.variance));
    put_ops(c, s, row, points->times[points->count - 1]);
    heap_cell_site(&c[SITE], h, rows, row);
    heap_cell_stack(&c[STACK], h, row);
}

/* ---- how much was looked at ---- */

static const struct moments_loop *longest(const struct moments *m)
{
    const struct moments_loop *found = NULL;

    for (size_t i = 0; i < m->loop_count; i++)
        found = !found || m->loops[i].stacked_count > found->stacked_count ? &m->loops[i] : found;
    return found;
}

static const char *note(struct asked *q, const struct table *t)
{
    const struct moments_loop *l = longest(&q->recorded->moments);
    struct arena *a = q->answer->arena;

    if (!l)
        return "There are no steps: the program reports none (tidemark.step()), and none were "
               "found.";
    if (l->stacked_count < STEP_GROWTH_LEAST)
        return arena_printf(a, "%zu steps%s are too few to tell: it takes %u.", l->stacked_count,
                            l->stacked_count < l->count ? " of one window" : "", STEP_GROWTH_LEAST);
    if (l->stacked_count < l->count)
        return arena_printf(a, "%s over the %zu steps of the longest window.",
                            t->rows ? "Held at the ends of steps"
                                    : "Nothing grows from step to step",
                            l->stacked_count);
    return arena_printf(a, "%s over %zu steps, which are known by %s.",
                        t->rows ? "Held at the ends of steps" : "Nothing grows from step to step",
                        l->count, step_how_text(l->how));
}

void leaks_per_step_put(struct asked *q, struct leaks_per_step *s)
{
    struct heap *h = &q->recorded->heap;
    struct table *t = answer_add(q->answer, "per_step", TABLE_ROWS, columns, COUNT(columns));
    struct heap_rows rows;

    if (!heap_begin(h, q->answer, t))
        return;
    tensor_kinds_all(&s->tensors.tensors, q->answer->arena);
    step_growth_end(&s->growth);
    if (q->recorded->moments.loop_count) {
        heap_rows_ranked(&rows, h, weight, ROWS, rank, s);
        for (size_t i = 0; i < rows.count; i++)
            put_row(q, s, t, &rows, &rows.rows[i]);
    }
    t->note = note(q, t);
    step_growth_free(&s->growth);
    tensor_end(&s->tensors);
}
