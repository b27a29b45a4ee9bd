/* uses - who read and wrote the blocks of a recording, and when, as its program has told (ACCESS).
 *
 * A use lasts from the beginning of the operator to its end where that is a region of the same
 * thread that is called as it, and is a moment otherwise. An address in the middle of a block is of
 * that block.
 *
 * What a process does not tell is not known: of blocks that are told of at all, every use is; of
 * other tensors it is where the process says so (TRACE_ACCESS_ALL), from there to where it ends
 * that.
 */
#ifndef MODEL_USES_H
#define MODEL_USES_H

#include "model/block_spans.h"
#include "model/tensors.h"

struct use_point { /* as in tensor_curve_at */
    uint64_t time_ns, number;
};

struct use {
    struct use_point from, to;
    uint64_t name; /* a string; 0: not known */
    uint32_t next; /* 1 + place of the next one of its block; 0: none */
    uint32_t open; /* while its region is open: 1 + place of another one of that */
    bool read, write;
};

struct use_window { /* in which every use of tensors of a process is told */
    uint32_t place;
    bool all; /* and of all other blocks: of a device's memory */
    struct use_point from, to;
};

struct uses { /* zeroed: empty */
    struct tensors *tensors;
    struct use *list; /* in the order of the trace */
    size_t count, room;
    struct use_of {           /* by place in the list of tensors */
        uint32_t first, last; /* 1 + places; 0: none */
        bool inner;           /* its whole life is in one operator, whose own it is */
    } * of;
    size_t of_room;
    struct use_window *windows; /* in the order in which they began */
    size_t window_count, window_room;
    struct spans live; /* the blocks that have an address */
    uint64_t told;     /* accesses, */
    uint64_t missed;   /* and those of them to memory that is not known */
    uint64_t left_out;
    struct use_region *regions; /* that are open */
    size_t region_count, region_room;
};

/* Of these blocks, which the heap tells of again: see tensors_want. */
void uses_want(struct uses *u, struct tensors *t);
/* Every record of the second pass, after the heap took it. */
void uses_take(void *uses, const struct trace_event *ev);
/* Of a block, the first; NULL: none is known. And the one after it. */
const struct use *uses_first(const struct uses *u, size_t tensor);
const struct use *uses_next(const struct uses *u, const struct use *x);
/* Was it born and dead within an operator that has told of others? */
bool uses_inner(const struct uses *u, size_t tensor);
void uses_free(struct uses *u);

#endif
