/* creators - see creators.h. Most stacks have one, which is asked for first. */
#include "model/creators.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define PAIRS_MOST ((size_t)1 << 22)

void creators_note(struct creators *c, uint32_t stack, uint64_t creator)
{
    uint32_t who = creator < UINT32_MAX ? (uint32_t)creator : 0;
    uint64_t key = (uint64_t)stack << 32 | who, known;

    memory_fit_zeroed(c->last, c->last_room, (size_t)stack + 1);
    if (c->last[stack] == who + 1)
        return;
    c->last[stack] = who + 1;
    if (intmap_get(&c->known, key, &known) || c->count == PAIRS_MOST)
        return;
    intmap_put(&c->known, key, 1);
    memory_fit(c->pairs, c->room, c->count + 1);
    c->pairs[c->count++] = (struct creators_pair){stack, who};
}

void creators_free(struct creators *c)
{
    free(c->pairs);
    free(c->last);
    intmap_free(&c->known);
    *c = (struct creators){0};
}
