/* blocks - see blocks.h: open addressing, directory and groups at most three quarters full. */
#include "watch/blocks.h"

#include "base/memory.h"

#include <stdlib.h>

#define FIRST_GROUPS 64u
#define FIRST_BLOCKS 16u

_Static_assert(sizeof(struct block) == 16, "pieces of a slab are powers of two");

static uint32_t room_of(uint32_t entries)
{
    return entries / 4 * 3;
}

static void grow_directory(struct blocks *b)
{
    struct blocks_group *old = b->groups;
    uint32_t before = old ? b->mask + 1 : 0, entries = old ? before * 2 : FIRST_GROUPS;

    b->mask = entries - 1;
    b->room = room_of(entries) - room_of(before);
    b->groups = memory_zeroed(entries * sizeof(*b->groups));
    for (uint32_t i = 0; i < before; i++) {
        if (old[i].slots)
            *blocks_group(b, old[i].number) = old[i];
    }
    free(old);
}

static struct block *take_slots(struct blocks *b, uint32_t entries)
{
    return slab_take(&b->slab, (unsigned int)__builtin_ctz(entries) + 4);
}

/* As the last one has become, or half of that if half would have done. */
static uint32_t expected_entries(const struct blocks *b)
{
    const struct blocks_group *last = b->groups ? blocks_group(b, b->newest) : NULL;
    uint32_t entries;

    if (!last || !last->slots)
        return FIRST_BLOCKS;
    entries = last->mask + 1;
    if (room_of(entries) - last->room <= room_of(entries / 2) && entries > FIRST_BLOCKS)
        entries /= 2;
    return entries;
}

static void new_group(struct blocks *b, struct blocks_group *g, uint32_t number)
{
    uint32_t entries = expected_entries(b);

    *g = (struct blocks_group){take_slots(b, entries), number, entries - 1, room_of(entries)};
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

    for (uint32_t i = 0; i <= g->mask; i++)
        live += lives(&g->slots[i]);
    return live;
}

/* Without the dead, and in a larger table unless they were so many that the size will do. */
static void renew_group(struct blocks *b, struct blocks_group *g)
{
    struct block *old = g->slots;
    uint32_t before = g->mask + 1, live = count_live(g);
    uint32_t entries = live > before / 4 ? before * 2 : before;
    unsigned int bits = (unsigned int)__builtin_ctz(before);

    g->slots = take_slots(b, entries);
    g->mask = entries - 1;
    g->room = room_of(entries) - live;
    for (uint32_t i = 0; i < before; i++) {
        if (lives(&old[i]))
            *blocks_place(g, old[i].offset) = old[i];
    }
    slab_give(&b->slab, old, bits + 4);
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
