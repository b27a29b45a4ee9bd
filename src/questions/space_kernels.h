/* space_kernels - what was launched, by kernel: how often, and how many bytes of objects it was
 * given, where the recording knows that.
 */
#ifndef QUESTIONS_SPACE_KERNELS_H
#define QUESTIONS_SPACE_KERNELS_H

#include "questions/question.h"

struct space_kernel {
    uint64_t call, count;
    uint64_t known; /* launches that the sums below are of */
    uint64_t given, read, written;
};

struct space_kernels { /* zeroed: none */
    struct space_kernel *list;
    size_t count, room;
};

void space_kernels_take(struct space_kernels *k, struct arena *a, const struct trace_event *ev);

/* One row each, by launches. Those beyond the first few thousand are left out. */
void space_kernels_add(const struct space_kernels *k, const struct names *n, struct answer *a);

#endif
