/* heap_points - the live heap as the last column of a timeline. Ticks are heard while the heap is
 * still being read: until it is, the column holds the time of its row's last tick.
 */
#ifndef QUESTIONS_HEAP_POINTS_H
#define QUESTIONS_HEAP_POINTS_H

#include "model/heap.h"
#include "questions/points.h"

struct heap_points {
    struct heap *heap; /* whose levels were wanted */
    struct points *points;
    int column;
};

/* Is this tick in the stretch of time that is asked about? */
bool heap_points_wanted(const struct selection *o, uint64_t time_ns);

/* Of the row of a tick. */
void heap_points_cell(struct table_cell *c, uint64_t time_ns);

/* The heap was read: fill the column with the largest live heap since the row before, or take it
 * away where the trace has no allocations, or no tick was wanted.
 */
void heap_points_end(struct heap_points *p);

/* The trace has allocations but no ticks: rows with the heap alone, at the grid's own times. */
void heap_points_alone(struct heap_points *p);

#endif
