/* heap_series - the live memory of groups of stacks over time, in equal steps: the largest of each,
 * so no short peak is lost.
 *
 * What a process holds goes with it when it ends.
 */
#ifndef MODEL_HEAP_SERIES_H
#define MODEL_HEAP_SERIES_H

#include "base/intmap.h"
#include "model/heap.h"

#define HEAP_SERIES_STEPS 100

struct heap_series {
    struct heap *heap;
    const uint32_t *groups; /* by number of the stack */
    uint32_t count;         /* of groups */
    uint64_t from_ns, step_ns, to_ns;
    struct heap_track *tracks; /* by group; the last is all of them */
    struct heap_hold *holds;   /* what one process holds of one group */
    size_t hold_count, hold_room;
    uint32_t
        *firsts; /* by place of the process: 1 + that of its last hold, which leads to the others */
    struct intmap places;
    struct heap_series_info **infos; /* by process and number of the info */
    struct heap_track *all;          /* the last of the tracks */
    uint64_t next_end_ns;            /* of the first process that has not ended yet */
    uint64_t time_ns;                /* of the event that is taken, */
    int step;                        /* and the step that it is in */
    struct heap_process **ends;      /* those that end, in order */
    size_t end_count, ended;
};

/* The heap was read; `groups` has a group below `count` for each stack, and outlives the series;
 * last_ns is when the trace ends. Takes the events again by h->replay; end it when they were.
 */
void heap_series_want(struct heap_series *s, struct heap *h, uint64_t last_ns,
                      const uint32_t *groups, uint32_t count);
void heap_series_end(struct heap_series *s);

/* Of one group; `count`: of all. In the arena; NULL: it never held anything. */
const struct table_series *heap_series_of(const struct heap_series *s, uint32_t group);

#endif
