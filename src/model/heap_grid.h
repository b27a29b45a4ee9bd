/* heap_grid - the live heap of all processes over time, in a bounded number of equal steps: what
 * lived at the most in each, with what it began with, and what at its end.
 */
#ifndef MODEL_HEAP_GRID_H
#define MODEL_HEAP_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAP_GRID_STEPS 65536u

struct heap_step {
    bool touched; /* something changed in it */
    uint64_t high, live;
};

struct heap_grid {
    uint64_t step_ns;
    size_t count; /* steps up to the last that was touched */
    struct heap_step *steps;
};

/* In zeroed memory of HEAP_GRID_STEPS steps. */
void heap_grid_init(struct heap_grid *g, struct heap_step *steps);

/* In the order of time: so much lived before, at the most, and after. */
void heap_grid_add(struct heap_grid *g, uint64_t time_ns, uint64_t before, uint64_t high,
                   uint64_t live);

/* All was added: steps without a change are as the one before. */
void heap_grid_end(struct heap_grid *g);

#endif
