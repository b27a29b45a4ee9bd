/* heap_grid - see heap_grid.h. */
#include "model/heap_grid.h"

#include <string.h>

#define STEP_FIRST ((uint64_t)1 << 20) /* about a millisecond */

void heap_grid_init(struct heap_grid *g, struct heap_step *steps)
{
    *g = (struct heap_grid){.step_ns = STEP_FIRST, .steps = steps};
}

static void halve(struct heap_grid *g)
{
    for (size_t i = 0; i < HEAP_GRID_STEPS / 2; i++) {
        struct heap_step a = g->steps[2 * i], b = g->steps[2 * i + 1];

        if (!b.touched)
            b = a;
        else if (a.touched && a.high > b.high)
            b.high = a.high;
        g->steps[i] = b;
    }
    memset(g->steps + HEAP_GRID_STEPS / 2, 0, HEAP_GRID_STEPS / 2 * sizeof(*g->steps));
    g->count = (g->count + 1) / 2;
    g->step_ns *= 2;
}

static size_t step_at(struct heap_grid *g, uint64_t time_ns)
{
    while (time_ns / g->step_ns >= HEAP_GRID_STEPS)
        halve(g);
    return (size_t)(time_ns / g->step_ns);
}

void heap_grid_add(struct heap_grid *g, uint64_t time_ns, uint64_t before, uint64_t high,
                   uint64_t live)
{
    size_t i = step_at(g, time_ns);
    struct heap_step *s = &g->steps[i];

    if (!s->touched)
        s->high = before;
    s->touched = true;
    s->high = high > s->high ? high : s->high;
    s->live = live;
    g->count = i >= g->count ? i + 1 : g->count;
}

void heap_grid_end(struct heap_grid *g)
{
    uint64_t live = 0;

    for (size_t i = 0; i < g->count; i++) {
        if (!g->steps[i].touched)
            g->steps[i].high = g->steps[i].live = live;
        live = g->steps[i].live;
    }
}
