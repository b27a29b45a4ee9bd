/* heap_grid - the live heap of all processes over time, in a bounded number of equal steps.
 *
 * A step has what the sum changed in it, and the highest that one process stood above its own end
 * of the step: so the sum at the end plus that is a moment that was, and no short peak is lost.
 */
#ifndef ANALYZE_HEAP_GRID_H
#define ANALYZE_HEAP_GRID_H

#include <stddef.h>
#include <stdint.h>

#define HEAP_GRID_STEPS 65536u
#define HEAP_GRID_ALL UINT32_MAX

struct heap_high { /* the highest of one process in a step */
    uint64_t rise; /* above its end of the step */
    uint64_t event, time_ns;
    uint32_t process; /* its place in heap.processes; HEAP_GRID_ALL: all of them at that time */
};

struct heap_step {
    uint64_t change;
    struct heap_high high;
    uint64_t live; /* at its end; once heap_grid_sum was called */
};

struct heap_grid {
    uint64_t step_ns;
    size_t count; /* steps up to the last that was touched */
    struct heap_step *steps;
};

/* In zeroed memory of HEAP_GRID_STEPS steps. */
void heap_grid_init(struct heap_grid *g, struct heap_step *steps);

/* The step that a time is in; makes steps longer where it is after the last one. */
size_t heap_grid_at(struct heap_grid *g, uint64_t time_ns);

void heap_grid_add(struct heap_grid *g, uint64_t time_ns, uint64_t change,
                   const struct heap_high *high);

/* All was added: sum up. The step with the largest peak, from that of a time on. */
size_t heap_grid_sum(struct heap_grid *g, uint64_t from_ns);

#endif
