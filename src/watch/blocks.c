/* blocks - see blocks.h: open addressing, at most three quarters full. */
#include "watch/blocks.h"

#include "base/memory.h"

#include <stdlib.h>

#define FIRST_ENTRIES 256u

void blocks_grow(struct blocks *b)
{
    struct block *old = b->table;
    size_t entries = old ? b->mask + 1 : 0;

    if (!entries)
        b->mask = FIRST_ENTRIES - 1;
    else if (b->count > entries / 4) /* else the dead are so many that the size will do */
        b->mask = entries * 2 - 1;
    b->table = memory_zeroed((b->mask + 1) * sizeof(*b->table));
    b->used = b->count;
    for (size_t i = 0; i < entries; i++) {
        if (old[i].info)
            *blocks_place(b, old[i].address) = old[i];
    }
    free(old);
}

void blocks_free(struct blocks *b)
{
    free(b->table);
    *b = (struct blocks){0};
}
