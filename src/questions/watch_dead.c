/* watch_dead - see watch_dead.h. */
#include "questions/watch_dead.h"

#include <inttypes.h>

const char *watch_dead_note(struct asked *q, const struct watches *w)
{
    uint64_t count = 0;

    for (size_t i = 0; i < w->block_count; i++)
        count += w->blocks[i].dead;
    if (!count)
        return NULL;
    return arena_printf(q->answer->arena,
                        "%" PRIu64 " of these had been freed before: what is written there "
                        "belongs to whoever gets the memory next; watch a block while it lives.",
                        count);
}
