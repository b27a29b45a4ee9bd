/* space_blocks - see space_blocks.h. */
#include "collect/space_blocks.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>

/* Handles that differ may have one key, in theory: whoever finds a block compares it. */
static uint64_t key_of(uint32_t class, uint64_t handle)
{
    return handle ^ hash_number(class + 1);
}

struct space_block *space_blocks_find(const struct spaces *s, uint32_t class, uint64_t handle)
{
    struct space_block *b;
    uint64_t place;

    if (!intmap_get(&s->places, key_of(class, handle), &place) || !place)
        return NULL;
    b = &s->blocks[place - 1];
    return b->handle == handle && b->class == class ? b : NULL;
}

void space_blocks_add(struct spaces *s, const struct space_block *b)
{
    size_t place = s->spare;

    if (place) {
        s->spare = (size_t)s->blocks[place - 1].handle;
    } else {
        memory_fit(s->blocks, s->room, s->count + 1);
        place = ++s->count;
    }
    s->blocks[place - 1] = *b;
    intmap_put(&s->places, key_of(b->class, b->handle), place);
}

void space_blocks_remove(struct spaces *s, struct space_block *b)
{
    size_t place = (size_t)(b - s->blocks) + 1;

    intmap_put(&s->places, key_of(b->class, b->handle), 0);
    *b = (struct space_block){.handle = s->spare};
    s->spare = place;
}

void space_blocks_free(struct spaces *s)
{
    free(s->blocks);
    free(s->pending);
    intmap_free(&s->places);
    *s = (struct spaces){0};
}
