/* heap_series - the live memory of groups of stacks over time, in equal steps: the largest of each,
 * so no short peak is lost.
 *
 * What a process holds goes with it when it ends.
 */
#ifndef ANALYZE_HEAP_SERIES_H
#define ANALYZE_HEAP_SERIES_H

#include "analyze/heap.h"
#include "analyze/heap_replay.h"
#include "base/intmap.h"

#define HEAP_SERIES_STEPS 100

struct heap_series {
    struct heap *heap;
    const uint32_t *groups; /* by number of the stack */
    uint32_t count;         /* of groups */
    uint64_t from_ns, step_ns, to_ns;
    struct heap_track **tracks; /* by group; the last is all of them */
    struct heap_hold *holds;    /* what one process holds of one group */
    size_t hold_count, hold_room;
    struct intmap places;
    struct heap_replay replay;
    struct heap_process **ends; /* those that end, in order */
    size_t end_count, ended;
};

/* The heap was read; `groups` has a group below `count` for each stack, and outlives the series. */
void heap_series_begin(struct heap_series *s, struct heap *h, const struct trace *t,
                       const uint32_t *groups, uint32_t count);
/* Take a BATCH, ALLOC or FREE; others are left alone. */
void heap_series_take(struct heap_series *s, const struct trace_event *ev);
void heap_series_end(struct heap_series *s);

/* Of one group; `count`: of all. In the arena; NULL: it never held anything. */
const struct table_series *heap_series_of(const struct heap_series *s, uint32_t group);

#endif
