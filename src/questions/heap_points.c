/* heap_points - see heap_points.h. */
#include "questions/heap_points.h"

#include "model/heap_grid.h"

#include <string.h>

bool heap_points_wanted(const struct selection *o, uint64_t time_ns)
{
    return time_ns >= o->from_ns && (!o->to_ns || time_ns <= o->to_ns);
}

/* Where rows are merged, the later time is the larger one and stays. */
void heap_points_cell(struct table_cell *c, uint64_t time_ns)
{
    cell_number(c, time_ns);
}

static void take_column_away(struct table *t)
{
    int width = t->width - 1;

    for (int i = 1; i < t->rows; i++)
        memmove(t->cells + (size_t)i * (size_t)width, t->cells + (size_t)i * (size_t)t->width,
                (size_t)width * sizeof(*t->cells));
    t->width = width;
}

void heap_points_end(struct heap_points *p)
{
    struct table *t = p->points->table;
    uint64_t before_ns = 0, bytes;

    if (!p->heap->any || (!t->rows && p->heap->run->ticks)) {
        take_column_away(t);
        return;
    }
    for (int i = 0; i < t->rows; i++) {
        struct table_cell *c = &t->cells[(size_t)i * (size_t)t->width + (size_t)p->column];
        uint64_t time_ns = c->number;

        c->present = false;
        if (heap_live_between(p->heap, before_ns, time_ns, &bytes))
            cell_number(c, heap_level(p->heap, bytes));
        before_ns = time_ns;
    }
}

void heap_points_alone(struct heap_points *p)
{
    const struct heap_grid *g = p->heap->grid;

    for (size_t i = 0; i < g->count; i++) {
        uint64_t end_ns = (i + 1) * g->step_ns - 1;
        struct table_cell *c;

        if (!g->steps[i].touched && i + 1 < g->count)
            continue; /* as before */
        if (!heap_points_wanted(&p->heap->options, end_ns) &&
            !heap_points_wanted(&p->heap->options, end_ns - g->step_ns + 1))
            continue;
        c = points_add(p->points);
        cell_number(&c[TABLE_TIME], end_ns < p->heap->to_ns ? end_ns : p->heap->to_ns);
        cell_number(&c[p->column], heap_level(p->heap, g->steps[i].high));
        points_done(p->points);
    }
}
