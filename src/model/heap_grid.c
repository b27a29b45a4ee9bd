/* heap_grid - see heap_grid.h. Changes are sums modulo 2^64, as the live heap is. */
#include "analyze/heap_grid.h"

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

        int64_t rise = (int64_t)(a.high.rise - b.change); /* the first half's high, from the end */

        if (rise > (int64_t)b.high.rise) {
            b.high = a.high;
            if (!a.high.rise)
                b.high = (struct heap_high){.process = HEAP_GRID_ALL,
                                            .time_ns = (2 * i + 1) * g->step_ns - 1};
            b.high.rise = (uint64_t)rise;
        }
        b.change += a.change;
        g->steps[i] = b;
    }
    memset(g->steps + HEAP_GRID_STEPS / 2, 0, HEAP_GRID_STEPS / 2 * sizeof(*g->steps));
    g->count = (g->count + 1) / 2;
    g->step_ns *= 2;
}

size_t heap_grid_at(struct heap_grid *g, uint64_t time_ns)
{
    while (time_ns / g->step_ns >= HEAP_GRID_STEPS)
        halve(g);
    return (size_t)(time_ns / g->step_ns);
}

void heap_grid_add(struct heap_grid *g, uint64_t time_ns, uint64_t change,
                   const struct heap_high *high)
{
    size_t i = heap_grid_at(g, time_ns);
    struct heap_step *s = &g->steps[i];

    s->change += change;
    if (high->rise > s->high.rise)
        s->high = *high;
    if (i >= g->count)
        g->count = i + 1;
}

size_t heap_grid_sum(struct heap_grid *g, uint64_t from_ns)
{
    uint64_t live = 0, most = 0;
    size_t first = heap_grid_at(g, from_ns), best = first < g->count ? first : 0;

    for (size_t i = 0; i < g->count; i++) {
        live += g->steps[i].change;
        g->steps[i].live = live;
        if (i >= first && live + g->steps[i].high.rise > most) {
            most = live + g->steps[i].high.rise;
            best = i;
        }
    }
    return best;
}
