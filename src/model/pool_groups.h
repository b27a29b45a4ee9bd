/* pool_groups - blocks of exact recordings, of stacks without a line: those that one thread
 * allocated from one stack within some milliseconds are a group, which has the line that the thread
 * worked for then.
 *
 * Such blocks are known by their info (stack and size) alone. A free is of the last group of its
 * thread that has one of them, else of the oldest: what a worker frees is mostly its own.
 */
#ifndef MODEL_POOL_GROUPS_H
#define MODEL_POOL_GROUPS_H

#include "base/intmap.h"
#include "model/heap_replay.h"

struct pool_group {
    uint32_t stack, line, owner; /* as those of a pool_share */
    uint32_t process;            /* 1 + its place in heap.processes */
    uint64_t thread;
    uint64_t allocated, live, at_peak;
};

struct pool_groups { /* zeroed: empty */
    struct pool_group *list;
    size_t count, room;
    struct intmap last; /* of thread and stack -> 1 + the place of its last group */
    uint64_t *until_ns; /* by group: when another one begins */
    size_t until_room;
    struct intmap infos; /* of process and info -> place in `held` */
    struct pool_held *held;
    size_t held_count, held_room;
    uint8_t *passed; /* by process: 1: it has groups, 2: it is beyond the peak */
    size_t passed_room;
};

/* A block was allocated; its group. *is_new: nobody has said yet whose that is. SIZE_MAX: there are
 * too many. */
size_t pool_groups_born(struct pool_groups *g, const struct heap_change *c, bool *is_new);
void pool_groups_freed(struct pool_groups *g, const struct heap_change *c);
/* Before a change of a process is taken: is it beyond the peak, which is after so many events of
 * it? */
void pool_groups_move(struct pool_groups *g, const struct heap_change *c, uint64_t peak_events);
/* All was taken. */
void pool_groups_end(struct pool_groups *g, const struct heap *h);
void pool_groups_free(struct pool_groups *g);

#endif
