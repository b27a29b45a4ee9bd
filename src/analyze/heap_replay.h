/* heap_replay - the allocations of a trace that was read once, again: each as a change of what one
 * process holds from one stack. For questions that follow memory over time.
 */
#ifndef ANALYZE_HEAP_REPLAY_H
#define ANALYZE_HEAP_REPLAY_H

#include "analyze/heap.h"
#include "analyze/heap_live.h"

struct heap_change {
    struct heap_process *process;
    uint32_t place; /* 1 + its place in heap.processes */
    uint64_t time_ns, stack, bytes;
    bool freed, revived;               /* revived: a free is taken back */
    uint64_t born_from_ns, born_to_ns; /* of what was freed: when it was allocated, at these ends */
    struct heap_info *info;            /* NULL: it was sampled */
};

struct heap_replay { /* zeroed but for these */
    struct heap *heap;
    bool cut; /* only what heap_goes_on lets pass */
    void (*take)(void *context, const struct heap_change *c);
    void *context;
    struct heap_live live; /* the replay's own */
};

/* Take a BATCH, ALLOC or FREE; others are left alone. */
void heap_replay(struct heap_replay *r, const struct trace_event *ev);
void heap_replay_end(struct heap_replay *r);

#endif
