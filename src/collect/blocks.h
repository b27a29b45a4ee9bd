/* blocks - the live blocks of one process, by address. Asked at every event: the search is inline.
 *
 * Blocks that a program uses together lie near each other, so they are kept near each other: each
 * 64 KiB of addresses has a small table of its own, found through a directory, and in the table
 * they are in the order of their addresses but for those that had to give way. What an event
 * touches is then in the cache as often as it is in the program's, and no table is ever large to
 * copy.
 *
 * Programs use the same addresses again and again, so the entry of a block that has died stays, to
 * be found at once by the next; the dead are dropped when the table is made anew.
 *
 * That nearness is what a table for all blocks cannot give, hence two hash tables of its own.
 */
#ifndef COLLECT_BLOCKS_H
#define COLLECT_BLOCKS_H

#include "base/hash.h"
#include "collect/slab.h"

#include <stdbool.h>
#include <stdint.h>

#define BLOCK_TIME 65536u           /* ns; unit of `birth` */
#define BLOCKS_FAR 32u              /* slots from where it should be */
#define BLOCK_DEAD (UINT32_MAX - 1) /* `info` in the tables alone: it does not live any more */

struct block {
    uint32_t offset : 16; /* in its 64 KiB */
    uint32_t thread : 16; /* that allocated it: the low bits of its number */
    uint32_t info;        /* what was allocated, by its number in INFOS; 0: none */
    uint32_t order;       /* which of its thread's allocations it was */
    uint32_t birth;       /* of a sampled one: its bytes, or UINT32_MAX for more */
};

struct blocks_group {    /* 64 KiB of addresses */
    struct block *slots; /* NULL: empty */
    uint32_t number;     /* address / 64 KiB */
    uint32_t entries;    /* slots */
    uint32_t room;       /* blocks that may still be added */
    uint32_t step;       /* of the slab */
};

struct blocks { /* zeroed is empty */
    struct blocks_group *groups;
    uint32_t mask, room; /* the same of groups */
    uint32_t found;      /* where in the directory a group was found last */
    uint32_t newest;     /* group, by number: the next is expected to be as large */
    struct slab slab;    /* the groups' slots */
};

/* A group with room for one more, made if need be. */
struct blocks_group *blocks_room(struct blocks *b, uint32_t number);
/* A block had to give way far: the group in a larger table, unless it is large for what it holds.
 */
void blocks_spread(struct blocks *b, struct blocks_group *g);
void blocks_free(struct blocks *b);

/* Asked at every event, so one multiplication does: `number` has 32 bits, and all of them reach the
 * bits above the 40th.
 */
static inline size_t blocks_home(uint32_t number, uint32_t mask)
{
    return (size_t)(number * HASH_FACTOR >> 40) & mask;
}

/* The group of this number or, where there is none, an empty one for it. Most often it is the last.
 */
static inline struct blocks_group *blocks_group(struct blocks *b, uint32_t number)
{
    struct blocks_group *last = &b->groups[b->found];
    size_t i;

    if (last->slots && last->number == number)
        return last;
    i = blocks_home(number, b->mask);
    while (b->groups[i].slots && b->groups[i].number != number)
        i = (i + 1) & b->mask;
    b->found = (uint32_t)i;
    return &b->groups[i];
}

static inline uint32_t blocks_slot(const struct blocks_group *g, uint32_t offset)
{
    return (uint32_t)((uint64_t)offset * g->entries >> 16);
}

/* The same for a block. */
static inline struct block *blocks_place(const struct blocks_group *g, uint32_t offset)
{
    uint32_t i = blocks_slot(g, offset);

    while (g->slots[i].info && g->slots[i].offset != offset)
        i = i + 1 < g->entries ? i + 1 : 0;
    return &g->slots[i];
}

static inline bool blocks_is_far(const struct blocks_group *g, const struct block *block,
                                 uint32_t offset)
{
    uint32_t slot = blocks_slot(g, offset), at = (uint32_t)(block - g->slots);

    return (at < slot ? at + g->entries : at) - slot > BLOCKS_FAR;
}

/* NULL: none lives there. It holds until the next is added. */
static inline struct block *blocks_find(struct blocks *b, uint64_t address)
{
    const struct blocks_group *g = b->groups ? blocks_group(b, (uint32_t)(address >> 16)) : NULL;
    struct block *block = g && g->slots ? blocks_place(g, address & 0xffff) : NULL;

    return block && block->info && block->info != BLOCK_DEAD ? block : NULL;
}

/* The entry of an address; its `info` is 0 when none lived there. The caller must set it.
 * Called in few places, so the compiler would inline it in none.
 */
static inline __attribute__((always_inline)) struct block *blocks_add(struct blocks *b,
                                                                      uint64_t address)
{
    uint32_t number = (uint32_t)(address >> 16);
    struct blocks_group *g = b->groups ? blocks_group(b, number) : NULL;
    struct block *block;

    if (!g || !g->slots || !g->room)
        g = blocks_room(b, number);
    block = blocks_place(g, address & 0xffff);
    if (!block->info && blocks_is_far(g, block, address & 0xffff)) {
        blocks_spread(b, g);
        block = blocks_place(g, address & 0xffff);
    }
    if (!block->info) {
        block->offset = address & 0xffff;
        g->room--;
    } else if (block->info == BLOCK_DEAD) {
        block->info = 0;
    }
    return block;
}

static inline void blocks_remove(struct block *block)
{
    block->info = BLOCK_DEAD;
}

/* Where the entry of an address is looked for first: to be fetched beforehand. */
static inline const void *blocks_near(struct blocks *b, uint64_t address)
{
    const struct blocks_group *g = b->groups ? blocks_group(b, (uint32_t)(address >> 16)) : NULL;

    return g && g->slots ? (const void *)&g->slots[blocks_slot(g, address & 0xffff)] : b;
}

#endif
