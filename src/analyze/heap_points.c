/* heap_points - see heap_points.h. */
#include "analyze/heap_points.h"

#include "analyze/heap_grid.h"

bool heap_points_wanted(const struct heap_points *p, uint64_t time_ns)
{
    const struct question_options *o = &p->heap->options;

    return time_ns >= o->from_ns && (!o->to_ns || time_ns <= o->to_ns);
}

void heap_points_cell(struct heap_points *p, struct table_cell *c, uint64_t time_ns)
{
    uint64_t bytes;

    if (p->heap->any && heap_live_between(p->heap, p->before_ns, time_ns, &bytes))
        cell_number(c, bytes);
    p->before_ns = time_ns;
}

void heap_points_alone(struct heap_points *p)
{
    const struct heap_grid *g = p->heap->grid;

    for (size_t i = 0; i < g->count; i++) {
        uint64_t end_ns = (i + 1) * g->step_ns - 1;
        struct table_cell *c;

        if (!g->steps[i].change && !g->steps[i].high.rise && i + 1 < g->count)
            continue; /* as before */
        if (!heap_points_wanted(p, end_ns) && !heap_points_wanted(p, end_ns - g->step_ns + 1))
            continue;
        c = points_add(p->points);
        cell_number(&c[0], end_ns < p->heap->to_ns ? end_ns : p->heap->to_ns);
        cell_number(&c[p->column], g->steps[i].live + g->steps[i].high.rise);
        points_done(p->points);
    }
}
