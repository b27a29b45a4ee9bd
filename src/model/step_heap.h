/* step_heap - what the heap of each process did between the moments that its program has named. */
#ifndef MODEL_STEP_HEAP_H
#define MODEL_STEP_HEAP_H

#include "model/heap_replay.h"
#include "model/moments.h"

struct step_sums {
    struct heap_amount allocated, freed;
    double change_variance;   /* of the bytes of the one less the other; 0: exact */
    struct heap_amount after; /* alive at its end */
    uint64_t least, most;     /* bytes that were alive, at the least and at the most, */
    uint64_t most_ns;         /* and when */
};

struct step_heap { /* zeroed: empty */
    struct heap *heap;
    struct step_heap_of *of; /* by place in heap.processes */
    size_t common;           /* moments that are of all of them */
};

/* The heap takes the events again, by h->replay; end it when they were. */
void step_heap_want(struct step_heap *s, struct heap *h, const struct moments *m);
void step_heap_end(struct step_heap *s);

/* From one moment of a process (or a time before its first) to another; false: nothing is known of
 * its heap. The error of the change is at most what it says where others lie between.
 */
bool step_heap_between(const struct step_heap *s, uint64_t process, uint64_t from_ns,
                       uint64_t to_ns, struct step_sums *out);
/* Alive in a process at one of its moments; process 0: in all that live then, at a moment that is
 * of none of them. False: nothing is known of its heap.
 */
bool step_heap_at(const struct step_heap *s, uint64_t process, uint64_t time_ns,
                  struct heap_amount *out);
void step_heap_free(struct step_heap *s);

#endif
