/* reserves - memory that pools hold to hand out, segment by segment, at one moment.
 *
 * Of snapshots that are imported it is as their tool has written it (POOL). Where a program tells
 * of its own pools, segments are the space of what they have to hand out, and blocks that of what
 * they have handed out. Of other recorded memory a segment is a mapping that is known to be an
 * allocator's; what is in it are the blocks whose addresses are there. What is not known stays
 * absent: how an allocator rounds sizes up (`used`), where the blocks of an exact recording are,
 * what is free between blocks of which some are samples, and all of a segment in which no block is
 * known: it may be full of small ones, and samples of Python's objects are not in its arenas.
 */
#ifndef MODEL_RESERVES_H
#define MODEL_RESERVES_H

#include "model/space_lens.h"
#include "model/tensors.h"
#include "trace/mappings.h"

struct reserve { /* a segment; numbers may be ABSENT */
    uint64_t process, address, bytes, stack;
    uint64_t blocks, used, requested, largest_free;
    uint64_t end;           /* of the block before: while they are put in */
    uint64_t number, space; /* of a told pool's segment */
};

struct reserve_block { /* one that was handed out */
    uint64_t process, address, bytes;
    bool sample;
};

struct reserves { /* zeroed: none */
    struct reserve *list;
    size_t count, room;
    struct intmap places; /* number of a told segment -> 1 + its place */
    uint64_t time_ns;     /* of the last POOL */
    uint64_t left_out;
};

/* Take a POOL; others are left alone. */
void reserves_take(struct reserves *r, struct threads *threads, const struct trace_event *ev);
/* Take what told pools have to hand out, up to a moment; others are left alone. */
void reserves_take_told(struct reserves *r, const struct space_list *spaces,
                        struct threads *threads, const struct trace_event *ev);
/* Where the segments of a told pool are: "reserved:NAME" of "pool:NAME". 0: nowhere. */
uint64_t reserves_space_of(const struct space_list *spaces, const struct space_entry *pool);
/* Of the pool whose segments are in one space: put its blocks into them, all that live at a moment.
 */
void reserves_fill_told(struct reserves *r, uint64_t space, const struct tensors *t,
                        const struct tensors_moment *moment);
/* The same of blocks that are known otherwise, in any order: all of them, and all segments, are of
 * one pool. */
void reserves_fill_blocks(struct reserves *r, struct reserve_block *list, size_t count);
/* Of the mappings at a moment, and the blocks that live then. Sorted by process and address. */
void reserves_find(struct reserves *r, const struct mappings *m, const struct tensors *t,
                   const struct tensors_moment *moment);
void reserves_free(struct reserves *r);

#endif
