/* blocks - see blocks.h: open addressing, the directory at most three quarters full and groups,
 * which have few collisions, seven eighths.
 */
#include "collect/blocks.h"

#include "base/memory.h"

#include <stdlib.h>

#define FIRST_GROUPS 64u
#define SPREAD_MOST 8u /* entries for each block, to spread them */

_Static_assert(sizeof(struct block) == 16, "no larger: there are many");

static uint32_t directory_room(uint32_t entries)
{
    return entries / 4 * 3;
}

static void grow_directory(struct blocks *b)
{
    struct blocks_group *old = b->groups;
    uint32_t before = old ? b->mask + 1 : 0, entries = old ? before * 2 : FIRST_GROUPS;

    b->mask = entries - 1;
    b->found = 0;
    b->room = directory_room(entries) - directory_room(before);
    b->groups = memory_zeroed(entries * sizeof(*b->groups));
    for (uint32_t i = 0; i < before; i++) {
        if (old[i].slots)
            *blocks_group(b, old[i].number) = old[i];
    }
    free(old);
}

static uint32_t group_room(uint32_t entries)
{
    return entries - entries / 8;
}

/* The smallest table with room for so many. */
static unsigned int step_for(uint32_t blocks)
{
    unsigned int step = 0;

    while (step < SLAB_STEPS - 1 &&
           group_room((uint32_t)(slab_size(step) / sizeof(struct block))) < blocks)
        step++;
    return step;
}

static void take_slots(struct blocks *b, struct blocks_group *g, unsigned int step)
{
    g->slots = slab_take(&b->slab, step);
    g->step = step;
    g->entries = (uint32_t)(slab_size(step) / sizeof(struct block));
    g->room = group_room(g->entries);
}

static uint32_t used_of(const struct blocks_group *g)
{
    return group_room(g->entries) - g->room;
}

/* As many blocks as the last one has, and a few. */
static void new_group(struct blocks *b, struct blocks_group *g, uint32_t number)
{
    const struct blocks_group *last = blocks_group(b, b->newest);
    uint32_t used = last->slots ? used_of(last) : 0;

    take_slots(b, g, step_for(used + used / 16));
    g->number = number;
    b->newest = number;
    b->room--;
}

static bool lives(const struct block *block)
{
    return block->info && block->info != BLOCK_DEAD;
}

static uint32_t count_live(const struct blocks_group *g)
{
    uint32_t live = 0;

    for (uint32_t i = 0; i < g->entries; i++)
        live += lives(&g->slots[i]);
    return live;
}

/* Without the dead. */
static void move_group(struct blocks *b, struct blocks_group *g, unsigned int step)
{
    struct blocks_group old = *g;

    take_slots(b, g, step);
    for (uint32_t i = 0; i < old.entries; i++) {
        if (!lives(&old.slots[i]))
            continue;
        *blocks_place(g, old.slots[i].offset) = old.slots[i];
        g->room--;
    }
    slab_give(&b->slab, old.slots, old.step);
}

/* Twice as large as its living need, and no smaller than it was. */
static void renew_group(struct blocks *b, struct blocks_group *g)
{
    unsigned int step = step_for(count_live(g) * 2);

    move_group(b, g, step > g->step ? step : g->step);
}

void blocks_spread(struct blocks *b, struct blocks_group *g)
{
    if (g->step + 4 < SLAB_STEPS && g->entries * 2 <= used_of(g) * SPREAD_MOST)
        move_group(b, g, g->step + 4);
}

struct blocks_group *blocks_room(struct blocks *b, uint32_t number)
{
    struct blocks_group *g;

    if (!b->groups || !b->room)
        grow_directory(b);
    g = blocks_group(b, number);
    if (g->slots)
        renew_group(b, g);
    else
        new_group(b, g, number);
    return g;
}

void blocks_free(struct blocks *b)
{
    slab_free(&b->slab);
    free(b->groups);
    *b = (struct blocks){0};
}
