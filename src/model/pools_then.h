/* pools_then - all pools that programs tell of (NVTX, MSTX), as they were at one moment, whichever
 * space is asked about. */
#ifndef MODEL_POOLS_THEN_H
#define MODEL_POOLS_THEN_H

#include "model/reserves.h"

struct pools_then { /* zeroed: none */
    struct threads *threads;
    struct space_list spaces; /* complete before the first record is taken */
    uint64_t shown;           /* the space that the lens shows as a heap; 0: none */
    struct reserves segments; /* of all */
    struct pools_then_block {
        struct reserve_block block;
        uint64_t space, number;
    } * blocks;
    size_t block_count, block_room;
    struct intmap places; /* number of a block -> 1 + its place */
};

/* Every record up to the moment. */
void pools_then_take(void *pools, const struct trace_event *ev);
/* The segments of the pool whose blocks are in a space, with what is free in them; false: it has
 * none. */
bool pools_then_of(const struct pools_then *p, const struct space_entry *pool,
                   struct reserves *out);
void pools_then_free(struct pools_then *p);

#endif
