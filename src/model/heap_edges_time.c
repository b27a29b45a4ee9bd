/* heap_edges_time - where parts of the time, those of a finer stretch, and bins end; see
 * heap_edges.h.
 */
#include "model/heap_edges_pass.h"

struct heap_edge heap_edges_here(const struct heap_edges_pass *s, uint64_t time_ns)
{
    return (struct heap_edge){.after = s->after, .time_ns = time_ns, .bytes = s->total};
}

/* So many equal parts of a stretch: where the first `part` of them end. */
static uint64_t end_of(uint64_t from_ns, uint64_t to_ns, int part, int parts)
{
    return from_ns + (uint64_t)((unsigned __int128)(to_ns - from_ns) * (unsigned int)part /
                                (unsigned int)parts);
}

static uint64_t part_end(const struct heap_edges *g)
{
    return g->pass->part < HEAP_EDGES_PARTS - 1
             ? end_of(0, g->last_ns, g->pass->part + 1, HEAP_EDGES_PARTS)
             : UINT64_MAX;
}

static uint64_t fine_end(const struct heap_edges *g)
{
    return g->finer && g->pass->fine_part <= HEAP_EDGES_PARTS
             ? end_of(g->from_ns, g->to_ns, g->pass->fine_part, HEAP_EDGES_PARTS)
             : UINT64_MAX;
}

static uint64_t bin_end(const struct heap_edges *g)
{
    return g->pass->bin < HEAP_EDGES_BINS
             ? end_of(g->from_ns, g->to_ns, g->pass->bin + 1, HEAP_EDGES_BINS)
             : UINT64_MAX;
}

void heap_edges_fill_bin(struct heap_edges *g)
{
    struct heap_edges_pass *s = g->pass;

    if (!s->binned) {
        g->high[s->bin] = g->low[s->bin] = s->total;
        g->high_ns[s->bin] = end_of(g->from_ns, g->to_ns, s->bin, HEAP_EDGES_BINS);
    }
    s->binned = true;
}

static void move_bins(struct heap_edges *g, uint64_t time_ns)
{
    struct heap_edges_pass *s = g->pass;

    if (time_ns < g->from_ns)
        return;
    for (; time_ns > bin_end(g); s->bin++, s->binned = false)
        heap_edges_fill_bin(g);
    if (s->bin < HEAP_EDGES_BINS)
        heap_edges_fill_bin(g);
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* A part ends; one in which nothing happened has its middle. */
static void end_part(struct heap_edges *g, struct heap_segments *c, uint64_t end_ns,
                     uint64_t span_ns)
{
    struct heap_edges_pass *s = g->pass;
    struct heap_edge middle = heap_edges_here(
        s, later(end_ns - span_ns / (2 * HEAP_EDGES_PARTS), s->now_ns));

    heap_segments_end(c, &middle);
}

/* Those of a stretch that is told finer. They end where the others do, too, so that the lowest
 * moment of each of those is one of theirs.
 */
static void move_fine(struct heap_edges *g, uint64_t time_ns)
{
    struct heap_edges_pass *s = g->pass;

    for (; time_ns > fine_end(g); s->fine_part++) {
        if (s->fine_part)
            end_part(g, &s->fine, fine_end(g), g->to_ns - g->from_ns);
        else
            heap_segments_end(&s->fine, NULL);
    }
}

void heap_edges_move(struct heap_edges *g, uint64_t time_ns)
{
    struct heap_edges_pass *s = g->pass;

    if (time_ns > s->next_ns || !s->moved) {
        move_bins(g, time_ns);
        for (; time_ns > part_end(g); s->part++) {
            move_fine(g, part_end(g));
            end_part(g, &s->coarse, part_end(g), g->last_ns);
            heap_segments_end(&s->fine, NULL);
            s->now_ns = later(s->now_ns, part_end(g));
        }
        move_fine(g, time_ns);
        s->moved = true;
        s->next_ns = part_end(g) < fine_end(g) ? part_end(g) : fine_end(g);
        s->next_ns = bin_end(g) < s->next_ns ? bin_end(g) : s->next_ns;
        if (time_ns < g->from_ns && g->from_ns - 1 < s->next_ns)
            s->next_ns = g->from_ns - 1;
    }
    s->now_ns = later(s->now_ns, time_ns);
}
