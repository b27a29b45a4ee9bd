/* steps_growth - see steps_answer.h: the stacks that hold more from step to step. */
#include "base/count.h"
#include "base/text.h"
#include "questions/heap_cells.h"
#include "questions/steps_answer.h"

#include <math.h>

#define STACKS 30

enum {
    GROWTH_PER_STEP,
    GROWTH_TREND,
    GROWTH_HELD_FIRST,
    GROWTH_HELD_LAST,
    GROWTH_ERROR,
    GROWTH_GREW_IN,
    GROWTH_LOOP,
    GROWTH_PID,
    GROWTH_SITE,
    GROWTH_STACK,
};

static const struct table_column growth_columns[] = {
    [GROWTH_PER_STEP] = {"growth_per_step", UNIT_CHANGE},
    [GROWTH_TREND] = {"trend", UNIT_TEXT},
    [GROWTH_HELD_FIRST] = {"held_first", UNIT_BYTES},
    [GROWTH_HELD_LAST] = {"held_last", UNIT_BYTES},
    [GROWTH_ERROR] = {"change_error", UNIT_BYTES},
    [GROWTH_GREW_IN] = {"grew_in", UNIT_COUNT},
    [GROWTH_LOOP] = {"loop", UNIT_TEXT, .detail = true},
    [GROWTH_PID] = {"pid", UNIT_ID, .detail = true},
    [GROWTH_SITE] = {"site", UNIT_TEXT},
    [GROWTH_STACK] = {"stack", UNIT_STACK},
};

static uint64_t weight(const struct heap_stack_sum *s)
{
    return s->held;
}

/* What was freed once, say. */
static bool is_level(const struct step_verdict *v)
{
    return (v->trend == STEP_STEADY || v->trend == STEP_UNCLEAR) && v->per_step < 0.5;
}

static void rank(struct heap_row *row, void *context)
{
    const struct steps_answer *w = context;
    struct step_verdict v;

    row->rank = -1;
    if (!step_growth_of(&w->state->growth, row, &v) || is_level(&v))
        return;
    row->rank = v.trend == STEP_GROWING ? 2 : v.per_step > 0;
    row->weight = v.per_step > 0 ? 1 + text_rounded(v.per_step * 1000) : 1;
}

static void put_stack(const struct steps_answer *w, struct table *t, const struct heap_rows *rows,
                      const struct heap_row *row)
{
    struct heap *h = &w->recorded->heap;
    const struct step_points *points;
    struct step_verdict v;
    struct table_cell *c;

    if (row->rank < 0 || !step_growth_of(&w->state->growth, row, &v))
        return;
    points = &w->state->growth.points[v.place - 1];
    c = table_add(w->answer, t);
    steps_change(&c[GROWTH_PER_STEP], v.per_step);
    cell_text(&c[GROWTH_TREND], steps_trends[v.trend]);
    cell_number(&c[GROWTH_HELD_FIRST], v.first);
    cell_number(&c[GROWTH_HELD_LAST], v.last);
    if (v.variance > 0)
        cell_rounded(&c[GROWTH_ERROR], sqrt(v.variance));
    if (points->count == points->loop->count)
        cell_number(&c[GROWTH_GREW_IN], v.rises);
    cell_text(&c[GROWTH_LOOP], points->loop->name);
    steps_pid(&c[GROWTH_PID], NULL, w, h->processes[v.place - 1]->number);
    heap_cell_site(&c[GROWTH_SITE], h, rows, row);
    heap_cell_stack(&c[GROWTH_STACK], h, row);
}

void steps_put_growth(const struct steps_answer *w)
{
    struct table *t = answer_add(w->answer, "growth", TABLE_ROWS, growth_columns,
                                 COUNT(growth_columns));
    struct heap_rows rows;

    if (!w->recorded->heap.any || !w->recorded->moments.loop_count)
        return;
    heap_rows_ranked(&rows, &w->recorded->heap, weight, STACKS, rank, (void *)w);
    for (size_t i = 0; i < rows.count; i++)
        put_stack(w, t, &rows, &rows.rows[i]);
    t->note = t->rows ? "Held at the ends of the steps of the loop that has most, after its first; "
                        "in the process where it grew most. Others hold no more from step to "
                        "step."
                      : "No stack holds more from step to step, after the first one.";
}
