/* heap_moments - the live heap of processes at given moments, and its largest between two of them.
 */
#ifndef MODEL_HEAP_MOMENTS_H
#define MODEL_HEAP_MOMENTS_H

#include "model/heap_replay.h"
#include "model/highest.h"

struct heap_moment_at { /* one that is asked for */
    uint64_t process, time_ns;
    uint64_t live; /* just before it */
    uint64_t most; /* from it to the next of the same process */
};

struct heap_moments { /* zeroed: empty */
    struct heap_moment_at *at;
    size_t count, room;
    struct heap_track_of *tracks; /* by place in heap.processes */
    struct heap *heap;
    struct highest highest; /* `most` of each */
};

/* Ask for moments; then take the events again by h->replay, end when they were. */
void heap_moments_ask(struct heap_moments *m, uint64_t process, uint64_t time_ns);
void heap_moments_want(struct heap_moments *m, struct heap *h);
void heap_moments_end(struct heap_moments *m);

/* Both moments must have been asked for. */
uint64_t heap_moments_live(const struct heap_moments *m, uint64_t process, uint64_t time_ns);
uint64_t heap_moments_most(const struct heap_moments *m, uint64_t process, uint64_t from_ns,
                           uint64_t to_ns);
void heap_moments_free(struct heap_moments *m);

#endif
