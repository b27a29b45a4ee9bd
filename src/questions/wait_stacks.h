/* wait_stacks - where threads waited, by whole stack: what the question `waits` says of native
 * code, whose lines may not be known.
 */
#ifndef QUESTIONS_WAIT_STACKS_H
#define QUESTIONS_WAIT_STACKS_H

#include "model/line_sums.h"
#include "questions/table.h"

struct wait_stack {
    uint64_t stack; /* of the model; 0: not known */
    struct cpu_sums sums;
};

/* The stacks in which threads have waited, longest first; equal ones are one. Without the workers
 * of pools in Python that had nothing to do. To be freed by the caller.
 */
struct wait_stack *wait_stacks(const struct line_sums *s, size_t *count);

#endif
