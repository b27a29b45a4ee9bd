/* large - see large.h. */
#include "collect/large.h"

#include "base/memory.h"

#define GROWN_LEAST 1024

static bool lives(struct blocks *blocks, const struct large_block *l)
{
    const struct block *b = blocks_find(blocks, l->address);

    return b && b->order == l->order && b->birth == l->birth;
}

void large_drop(struct large *l, struct blocks *blocks)
{
    size_t kept = 0;

    for (size_t i = 0; i < l->count; i++)
        if (lives(blocks, &l->list[i]))
            l->list[kept++] = l->list[i];
    l->count = kept;
    l->grown = kept * 2 > GROWN_LEAST ? kept * 2 : GROWN_LEAST;
}

void large_add(struct large *l, struct blocks *blocks, struct large_block b)
{
    if (l->count > l->grown)
        large_drop(l, blocks);
    memory_fit(l->list, l->room, l->count + 1);
    l->list[l->count++] = b;
}
