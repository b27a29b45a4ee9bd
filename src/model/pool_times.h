/* pool_times - what each thread of Python did in the last seconds of a trace that is being read:
 * where it ran, and where it waited. Older times are forgotten, so that a long recording takes no
 * more room than a short one.
 */
#ifndef MODEL_POOL_TIMES_H
#define MODEL_POOL_TIMES_H

#include "model/threads.h"

#define POOL_WINDOW_NS 1500000000u /* what is further away has nothing to do with it */

struct pool_event {
    uint64_t from_ns, to_ns; /* of a sample of CPU time both are the same */
    uint32_t stack;
    uint32_t cause; /* enum trace_cause; 0: it ran */
};

struct pool_thread {
    const struct threads_thread *thread;
    struct pool_thread *next; /* of its process */
    bool listed;
    struct pool_event *events; /* by to_ns, from `first` on */
    size_t first, count, room;
    uint32_t waiter; /* the pools' own */
};

void pool_times_add(struct pool_thread *t, struct pool_event e);

/* The place of the first event that ends at that time or later; count: there is none. */
size_t pool_times_find(const struct pool_thread *t, uint64_t time_ns);

/* Where it was blocked at that time; NULL: it was not, or nobody knows. */
const struct pool_event *pool_times_blocked(const struct pool_thread *t, uint64_t time_ns);

/* Does it say nothing of that time any more? */
bool pool_times_over(const struct pool_thread *t, uint64_t time_ns);

#endif
