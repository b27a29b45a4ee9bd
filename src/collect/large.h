/* large - the large blocks of a process, kept aside so that their pages can be looked at
 * (residing.h). Blocks are only added, which costs next to nothing: the dead are dropped
 * now and then.
 */
#ifndef COLLECT_LARGE_H
#define COLLECT_LARGE_H

#include "collect/blocks.h"

#include <stddef.h>
#include <stdint.h>

#define LARGE_BYTES ((uint64_t)1 << 20)

struct large { /* zeroed is empty */
    struct large_block {
        uint64_t address, bytes;
        uint32_t stack;        /* as the trace numbers it */
        uint32_t order, birth; /* those of its block: another one may have its address by now */
    } * list;
    size_t count, room;
    size_t grown; /* from here on the dead are dropped before more are added */
};

void large_add(struct large *l, struct blocks *blocks, struct large_block b);
/* Drop those that have died. */
void large_drop(struct large *l, struct blocks *blocks);

#endif
