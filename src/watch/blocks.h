/* blocks - the live blocks of one process, by address. Asked at every event: the search is inline.
 *
 * Programs use the same addresses again and again, so the entry of a block that has died stays, to
 * be found at once by the next; the dead are dropped when the table is made anew.
 */
#ifndef WATCH_BLOCKS_H
#define WATCH_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOCK_TIME 65536u /* ns; unit of `birth` */

struct block {
    uint64_t address : 48; /* 0: empty */
    uint64_t thread : 16;  /* that allocated it: the low bits of its number */
    uint32_t info;         /* what was allocated: TRACE_INFO; 0: it does not live */
    uint32_t order;        /* which of its thread's allocations it was */
    uint32_t birth;
    uint32_t owed; /* in the table of owed frees: how many */
};

struct blocks { /* zeroed is empty */
    struct block *table;
    size_t mask, used, count; /* entries - 1; with an address; that live */
};

/* Make room in a full table, or the first one. */
void blocks_grow(struct blocks *b);
void blocks_free(struct blocks *b);

static inline size_t blocks_home(const struct blocks *b, uint64_t address)
{
    return (size_t)((address >> 3) * 0x9e3779b97f4a7c15u >> 32) & b->mask;
}

/* The entry with this address or, where there is none, an empty one for it. */
static inline struct block *blocks_place(const struct blocks *b, uint64_t address)
{
    size_t i = blocks_home(b, address);

    while (b->table[i].address && b->table[i].address != address)
        i = (i + 1) & b->mask;
    return &b->table[i];
}

/* NULL: none lives there. */
static inline struct block *blocks_find(const struct blocks *b, uint64_t address)
{
    struct block *block = b->table ? blocks_place(b, address) : NULL;

    return block && block->info ? block : NULL;
}

/* The entry of an address. The caller sets `info`, and where that was 0 before, one more lives. */
static inline struct block *blocks_add(struct blocks *b, uint64_t address)
{
    struct block *block;

    if (!b->table || b->used >= b->mask / 4 * 3)
        blocks_grow(b);
    block = blocks_place(b, address);
    if (!block->address) {
        block->address = address & ((1ull << 48) - 1);
        b->used++;
    }
    if (!block->info)
        b->count++;
    return block;
}

static inline void blocks_remove(struct blocks *b, struct block *block)
{
    block->info = 0;
    b->count--;
}

#endif
