/* pool_groups - see pool_groups.h. */
#include "model/pool_groups.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>

#define GROUPS_MOST ((size_t)1 << 22)
#define SPAN_NS                                                                                    \
    20000000u /* of a group: what a thread works for changes more slowly, as far as is known */
#define LOOK_BACK 8 /* groups that a free is looked for in */

enum { NONE, HAS, PASSED };

struct pool_held { /* the blocks of one info: by group, the oldest first */
    struct {
        uint32_t group;
        uint32_t blocks;
    } * parts;
    size_t first, count, room;
};

static struct pool_held *held_of(struct pool_groups *g, const struct heap_change *c, bool make)
{
    uint64_t key = hash_mix(hash_mix(7, c->place), c->info), place;

    if (intmap_get(&g->infos, key, &place))
        return &g->held[place];
    if (!make)
        return NULL;
    memory_fit_zeroed(g->held, g->held_room, g->held_count + 1);
    intmap_put(&g->infos, key, g->held_count);
    return &g->held[g->held_count++];
}

static void hold(struct pool_held *h, uint32_t group)
{
    if (h->count > h->first && h->parts[h->count - 1].group == group) {
        h->parts[h->count - 1].blocks++;
        return;
    }
    memory_fit(h->parts, h->room, h->count + 1);
    h->parts[h->count].group = group;
    h->parts[h->count++].blocks = 1;
}

static size_t group_of(struct pool_groups *g, const struct heap_change *c, bool *is_new)
{
    uint64_t key = hash_mix(hash_mix(3, c->thread), c->stack), last;

    *is_new = false;
    if (intmap_get(&g->last, key, &last) && c->time_ns < g->until_ns[last - 1])
        return last - 1;
    if (g->count == GROUPS_MOST)
        return SIZE_MAX;
    *is_new = true;
    if (g->passed[c->place] == NONE)
        g->passed[c->place] = HAS;
    memory_fit(g->list, g->room, g->count + 1);
    memory_fit(g->until_ns, g->until_room, g->count + 1);
    g->list[g->count] = (struct pool_group){
        .stack = (uint32_t)c->stack, .process = c->place, .thread = c->thread};
    g->until_ns[g->count] = c->time_ns + SPAN_NS;
    intmap_put(&g->last, key, ++g->count);
    return g->count - 1;
}

size_t pool_groups_born(struct pool_groups *g, const struct heap_change *c, bool *is_new)
{
    size_t place = group_of(g, c, is_new);

    if (place == SIZE_MAX)
        return place;
    g->list[place].allocated += c->revived ? 0 : c->bytes;
    g->list[place].live += c->bytes;
    hold(held_of(g, c, true), (uint32_t)place);
    return place;
}

/* Which part of it a free is of. */
static size_t part_of(const struct pool_groups *g, const struct pool_held *h, uint64_t thread)
{
    size_t least = h->count - h->first > LOOK_BACK ? h->count - LOOK_BACK : h->first;

    for (size_t i = h->count; i > least; i--)
        if (h->parts[i - 1].blocks && g->list[h->parts[i - 1].group].thread == thread)
            return i - 1;
    return h->first;
}

void pool_groups_freed(struct pool_groups *g, const struct heap_change *c)
{
    struct pool_held *h = held_of(g, c, false);
    size_t at;

    if (!h || h->first == h->count)
        return;
    at = part_of(g, h, c->thread);
    g->list[h->parts[at].group].live -= c->bytes;
    h->parts[at].blocks--;
    while (h->first < h->count && !h->parts[h->first].blocks)
        h->first++;
    while (h->count > h->first && !h->parts[h->count - 1].blocks)
        h->count--;
    if (h->first == h->count)
        h->first = h->count = 0;
}

static void note_peak(struct pool_groups *g, uint32_t process)
{
    for (size_t i = 0; g->passed[process] == HAS && i < g->count; i++)
        if (g->list[i].process == process)
            g->list[i].at_peak = g->list[i].live;
    g->passed[process] = PASSED;
}

/* By events, as a tick may have the peak and much that was freed right after it. */
void pool_groups_move(struct pool_groups *g, const struct heap_change *c, uint64_t peak_events)
{
    memory_fit_zeroed(g->passed, g->passed_room, (size_t)c->place + 1);
    if (c->number >= peak_events && g->passed[c->place] != PASSED)
        note_peak(g, c->place);
}

/* Who did nothing since the peak holds what it held then, unless it had ended. */
void pool_groups_end(struct pool_groups *g, const struct heap *h)
{
    for (size_t i = 0; i < g->count; i++) {
        struct pool_group *one = &g->list[i];

        if (g->passed[one->process] != PASSED &&
            h->processes[one->process - 1]->end_ns > h->peak_ns)
            one->at_peak = one->live;
    }
}

void pool_groups_free(struct pool_groups *g)
{
    for (size_t i = 0; i < g->held_count; i++)
        free(g->held[i].parts);
    free(g->held);
    free(g->list);
    free(g->until_ns);
    free(g->passed);
    intmap_free(&g->last);
    intmap_free(&g->infos);
}
