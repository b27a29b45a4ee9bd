/* heap_points - the live heap as a column of a timeline. */
#ifndef ANALYZE_HEAP_POINTS_H
#define ANALYZE_HEAP_POINTS_H

#include "analyze/heap.h"
#include "analyze/points.h"

struct heap_points { /* zeroed but for these: nothing was asked yet */
    const struct heap *heap;
    struct points *points;
    int column;
    uint64_t before_ns; /* the tick before */
};

/* Is this tick in the stretch of time that is asked about? */
bool heap_points_wanted(const struct heap_points *p, uint64_t time_ns);

/* The largest live heap since the tick before; absent where the trace has no allocations. */
void heap_points_cell(struct heap_points *p, struct table_cell *c, uint64_t time_ns);

/* The trace has allocations but no ticks: rows with the heap alone, at the grid's own times. */
void heap_points_alone(struct heap_points *p);

#endif
