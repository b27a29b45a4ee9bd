/* heap_curve - what somebody held over time, in a bounded number of equal steps from the first
 * change on: at least half of HEAP_CURVE_STEPS of them are used, so no stretch before the first
 * change costs any.
 */
#ifndef MODEL_HEAP_CURVE_H
#define MODEL_HEAP_CURVE_H

#include <stdint.h>

#define HEAP_CURVE_STEPS 128u

struct heap_curve { /* zeroed: no change yet */
    uint64_t from_ns, step_ns;
    uint32_t at;                      /* the step that it stands in */
    uint64_t bytes[HEAP_CURVE_STEPS]; /* at the end of each step, up to `at` */
};

/* Changes come in the order of their times; one that does not counts as the last. */
void heap_curve_add(struct heap_curve *c, uint64_t time_ns, uint64_t bytes);
void heap_curve_remove(struct heap_curve *c, uint64_t time_ns,
                       uint64_t bytes); /* at most what is there */

/* At a time; not exact to more than a step. Before the first change: 0. */
uint64_t heap_curve_at(const struct heap_curve *c, uint64_t time_ns);

#endif
