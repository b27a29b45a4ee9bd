/* pool_blocks - blocks of stacks without a line, each with the line that its thread worked for when
 * it was allocated: which parts of what such a stack holds are whose.
 */
#ifndef MODEL_POOL_BLOCKS_H
#define MODEL_POOL_BLOCKS_H

#include "base/intmap.h"
#include "model/pool_groups.h"
#include "trace/read.h"

struct pool_share {
    uint32_t stack, line;
    uint32_t owner;                     /* the stack of the line; 0: none */
    uint64_t allocated, at_peak, alive; /* bytes, as the blocks say */
};

struct pool_blocks { /* zeroed: empty */
    struct pool_block *list;
    size_t count, room;
    struct intmap live;        /* by process and address: 1 + its place in the list */
    struct pool_share *shares; /* by stack */
    size_t share_count, share_room;
};

/* A block came to life; its place, for pool_blocks_give. SIZE_MAX: there are too many. */
size_t pool_blocks_born(struct pool_blocks *b, uint64_t process, const struct trace_event *ev);
void pool_blocks_freed(struct pool_blocks *b, uint64_t process, const struct trace_event *ev);
void pool_blocks_give(struct pool_blocks *b, size_t place, uint32_t line, uint32_t owner);

/* When all were taken: add them up, with groups of others. */
void pool_blocks_end(struct pool_blocks *b, const struct pool_groups *groups, uint64_t peak_ns);
/* The shares of one stack; how many. */
size_t pool_blocks_of(const struct pool_blocks *b, uint64_t stack,
                      const struct pool_share **shares);
void pool_blocks_free(struct pool_blocks *b);

#endif
