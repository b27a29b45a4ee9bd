/* heap_growth - how the live memory of each stack grew over the time of its process: what it held
 * at the ends of equal windows. Only of stacks that hold something in `at`.
 *
 * A process's time ends when it does; of one that runs Python, with the last allocation by a line
 * of it (see HEAP_AT_WORKED), so that what the interpreter frees at its end is not taken for more.
 */
#ifndef ANALYZE_HEAP_GROWTH_H
#define ANALYZE_HEAP_GROWTH_H

#include "analyze/heap_births.h"
#include "analyze/heap_rows.h"
#include "base/intmap.h"

#define HEAP_GROWTH_POINTS                                                                         \
    HEAP_BIRTHS_WINDOWS /* thirds, quarters and sixths of the time are among them */

struct heap_growth {
    struct heap *heap;
    struct heap_held *holds; /* what one process holds of one stack */
    size_t count, room;
    struct intmap places;
    struct heap_span *spans; /* by place in heap.processes */
    uint64_t *sums;          /* scratch: of one row, by process and point, zero between */
    uint32_t *firsts; /* by place in heap.stacks: 1 + that of its first hold; the others follow */
};

/* What a row held, in its process that held most of it. */
struct heap_grown {
    double bytes[HEAP_GROWTH_POINTS];
    uint64_t step_ns;
    uint64_t quarter; /* bytes of all processes a quarter before the end */
};

/* Read the trace again. */
void heap_growth_read(struct heap_growth *g, struct heap *h, struct trace *t);
/* False: the row holds nothing. */
bool heap_growth_of(const struct heap_growth *g, const struct heap_row *row,
                    struct heap_grown *out);

struct heap_ages {                 /* of what a row holds at the end of its processes' time */
    uint64_t oldest_ns, median_ns; /* the median: half of the bytes are older */
};

/* False: the row holds nothing. */
bool heap_growth_ages(const struct heap_growth *g, const struct heap_row *row,
                      struct heap_ages *out);
void heap_growth_free(struct heap_growth *g);

#endif
