/* heap_live - open addressing; a removed block's followers move up, so no slot is ever wasted. A
 * table of its own, as blocks come and go by the million and intmap keeps what it was given.
 */
#include "model/heap_live.h"

#include "base/intmap.h"
#include "base/memory.h"

#include <stdlib.h>

#define BLOCKS_MOST ((size_t)1 << 24)

static size_t home(const struct heap_live *l, uint32_t process, uint64_t address)
{
    return (size_t)intmap_hash(address ^ (uint64_t)process << 44) & l->mask;
}

struct heap_block *heap_live_find(const struct heap_live *l, uint32_t process, uint64_t address)
{
    size_t i;

    if (!l->slots)
        return NULL;
    for (i = home(l, process, address); l->slots[i].process; i = (i + 1) & l->mask)
        if (l->slots[i].address == address && l->slots[i].process == process)
            return &l->slots[i];
    return NULL;
}

static struct heap_block *place(struct heap_live *l, uint32_t process, uint64_t address)
{
    size_t i = home(l, process, address);

    while (l->slots[i].process)
        i = (i + 1) & l->mask;
    return &l->slots[i];
}

static void grow(struct heap_live *l)
{
    struct heap_live old = *l;

    l->mask = old.slots ? old.mask * 2 + 1 : 255;
    l->slots = memory_zeroed((l->mask + 1) * sizeof(*l->slots));
    for (size_t i = 0; old.slots && i <= old.mask; i++)
        if (old.slots[i].process)
            *place(l, old.slots[i].process, old.slots[i].address) = old.slots[i];
    free(old.slots);
}

struct heap_block *heap_live_add(struct heap_live *l, uint32_t process, uint64_t address)
{
    struct heap_block *block;

    if (l->used >= BLOCKS_MOST || (l->most && l->used >= l->most))
        return NULL;
    if (!l->slots || l->used * 2 > l->mask)
        grow(l);
    l->used++;
    block = place(l, process, address);
    block->process = process;
    block->address = address;
    return block;
}

void heap_live_remove(struct heap_live *l, struct heap_block *block)
{
    size_t hole = (size_t)(block - l->slots);

    for (size_t i = (hole + 1) & l->mask; l->slots[i].process; i = (i + 1) & l->mask) {
        size_t at = home(l, l->slots[i].process, l->slots[i].address);

        if (((i - at) & l->mask) < ((i - hole) & l->mask))
            continue; /* it would stand before its home */
        l->slots[hole] = l->slots[i];
        hole = i;
    }
    l->slots[hole].process = 0;
    l->used--;
}

void heap_live_forget(struct heap_live *l, uint32_t process)
{
    struct heap_live old = *l;

    if (!l->used)
        return;
    l->slots = memory_zeroed((l->mask + 1) * sizeof(*l->slots));
    l->used = 0;
    for (size_t i = 0; i <= old.mask; i++) {
        if (!old.slots[i].process || old.slots[i].process == process)
            continue;
        *place(l, old.slots[i].process, old.slots[i].address) = old.slots[i];
        l->used++;
    }
    free(old.slots);
}

void heap_live_free(struct heap_live *l)
{
    free(l->slots);
    *l = (struct heap_live){0};
}
