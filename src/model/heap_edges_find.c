/* heap_edges_find - edges that are known: which one, and fewer of them. See heap_edges.h. */
#include "model/heap_edges.h"

static int find(const struct heap_edge *list, int count, uint64_t time_ns)
{
    int low = 0, high = count ? count - 1 : 0;

    while (low < high) {
        int middle = (low + high) / 2;

        if (list[middle].time_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int heap_edges_cell(const struct heap_edges *g, uint64_t time_ns)
{
    return find(g->list, g->count, time_ns);
}

int heap_edges_coarse_cell(const struct heap_edges *g, uint64_t time_ns)
{
    return find(g->coarse, g->coarse_count, time_ns);
}

void heap_edges_coarse(const struct heap_edges *g, uint16_t *cells)
{
    int cell = 0;

    for (int i = 0; i < g->count; i++) {
        while (cell + 1 < g->coarse_count && g->coarse[cell].after < g->list[i].after)
            cell++;
        cells[i] = (uint16_t)cell;
    }
}

int heap_edges_peak(const struct heap_edges *g)
{
    int best = -1;

    for (int i = 0; i < g->count; i++)
        if (best < 0 || g->list[i].bytes > g->list[best].bytes)
            best = i;
    return best;
}

/* Which edges stay: every second lowest moment, what has a name, and between them the highest. */
static void choose(const struct heap_edges *g, bool *stays)
{
    int high = -1, lows = 0;

    for (int i = 0; i < g->count; i++) {
        const struct heap_edge *e = &g->list[i];

        stays[i] = e->kind == HEAP_EDGE_NAMED || (e->kind == HEAP_EDGE_LOW && lows++ % 2);
        if (!stays[i]) {
            high = high < 0 || e->bytes > g->list[high].bytes ? i : high;
            continue;
        }
        if (high >= 0)
            stays[high] = true;
        high = -1;
    }
}

void heap_edges_halve(struct heap_edges *g, uint16_t *cells)
{
    bool stays[HEAP_EDGES_MOST] = {false};
    int count = 0;

    choose(g, stays);
    for (int i = 0; i < g->count; i++) {
        cells[i] = (uint16_t)count;
        if (!stays[i])
            continue;
        g->list[count++] = g->list[i];
    }
    g->count = count;
}
