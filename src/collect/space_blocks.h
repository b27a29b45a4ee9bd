/* space_blocks - the live memory of one process in spaces besides the host's own, by class and
 * value of its handle. There is far less of it than of the heap, and what dies with its owner is
 * looked for among all.
 */
#ifndef COLLECT_SPACE_BLOCKS_H
#define COLLECT_SPACE_BLOCKS_H

#include "base/intmap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct space_block {
    uint64_t handle, owner;
    uint64_t number; /* in the trace; 0: a place that is free */
    uint64_t born_ns;
    uint32_t space, thread, order; /* order: which of its thread's allocations it was */
    uint32_t class;
    uint32_t holds;         /* frees that it lives on after */
    uint64_t bytes, mapped; /* of a mapping: how much, and the handle of what is there */
};

#define SPACE_BLOCK_MAPPING UINT64_MAX /* `number` of a mapping, which is no block of the trace */

struct space_event { /* what a ring has told and the tick's end is waited for */
    uint64_t time_ns, handle, bytes, stack, owner, context;
    uint64_t call; /* string of the trace */
    uint64_t read; /* of launches */
    uint64_t kind; /* of its space, or of an access */
    uint32_t space, thread, order;
    uint32_t class;
    unsigned int what; /* enum ring_space */
    bool known;        /* what launches were given */
};

struct spaces { /* zeroed is empty */
    struct space_block *blocks;
    size_t count, room;   /* places, also free ones */
    size_t spare;         /* 1 + one that is free; its `handle` is the next; 0: none */
    struct intmap places; /* key -> 1 + place, 0: none lives */
    struct space_event *pending;
    size_t pending_count, pending_room;
    uint64_t all;       /* vendors that tell every access: a bit for each, */
    uint64_t announced; /* and spaces of which that was said */
};

struct spaces_numbers {   /* of a trace */
    struct intmap spaces; /* string of its name -> space */
    struct intmap buses;  /* space -> string of the place of its device */
    uint32_t count;
    uint64_t blocks;
};

/* NULL: none lives under this handle. */
struct space_block *space_blocks_find(const struct spaces *s, uint32_t class, uint64_t handle);
/* None lives under its handle. */
void space_blocks_add(struct spaces *s, const struct space_block *b);
void space_blocks_remove(struct spaces *s, struct space_block *b);
void space_blocks_free(struct spaces *s);

#endif
