/* heap_growth - how the live memory of each stack grew over the time of its process. Only of stacks
 * that hold something in `at`.
 *
 * A process's time ends when it does, or with the recording; where an interpreter ends before, when
 * that begins to (see HEAP_AT_WORKED): what it then frees its program has kept.
 */
#ifndef MODEL_HEAP_GROWTH_H
#define MODEL_HEAP_GROWTH_H

#include "base/intmap.h"
#include "model/heap_births.h"
#include "model/heap_curve.h"
#include "model/heap_phases.h"
#include "model/heap_rows.h"
#include "model/recorded.h"

struct heap_growth {
    struct heap *heap;
    bool *follows;           /* by place in heap.stacks; those that hold something in the end */
    struct heap_held *holds; /* what one process holds of one stack */
    size_t count, room;
    struct heap_wide *wides; /* of those of more than one block: what came later */
    size_t wide_count, wide_room;
    struct intmap places;
    uint32_t **infos; /* by process and info: 1 + its hold, UINT32_MAX none, 0 not known yet */
    struct heap_span *spans; /* by place in heap.processes */
    uint64_t *sums;          /* scratch: of one row, by process, zero between */
    struct heap_phases phases;
    uint32_t *firsts; /* by place in heap.stacks: 1 + that of its first hold; the others follow */
};

/* Where a row held most of its memory at the end. */
struct heap_grown {
    const struct heap_process *process; /* NULL: nowhere */
    uint32_t place;                     /* 1 + its place in heap.processes */
    uint64_t bytes;                     /* that it held there, at the end */
    uint64_t from_ns, to_ns;            /* its first change there, and the end */
    uint64_t quarter;                   /* bytes of all processes a quarter before the end */
};

/* The heap was read once, and `at` of its stacks is the moment that is asked about, unless `all`:
 * then every stack is followed. Known when the recording was read again.
 */
void heap_growth_want(struct heap_growth *g, struct recorded *r, bool all);
/* Forget `at` of stacks that were not followed. */
void heap_growth_keep(const struct heap_growth *g);
/* False: the row holds nothing. */
bool heap_growth_of(const struct heap_growth *g, const struct heap_row *row,
                    struct heap_grown *out);
/* What the row held in that process at one time, */
double heap_growth_at(const struct heap_growth *g, const struct heap_row *row,
                      const struct heap_grown *where, uint64_t time_ns);
/* and at the ends of `count` equal windows of a stretch of time. */
void heap_growth_series(const struct heap_growth *g, const struct heap_row *row,
                        const struct heap_grown *where, uint64_t from_ns, uint64_t to_ns, double *y,
                        unsigned int count);

struct heap_ages {                 /* of what a row holds at the end of its processes' time */
    uint64_t oldest_ns, median_ns; /* the median: half of the bytes are older */
};

/* False: the row holds nothing. */
bool heap_growth_ages(const struct heap_growth *g, const struct heap_row *row,
                      struct heap_ages *out);
void heap_growth_free(struct heap_growth *g);

#endif
