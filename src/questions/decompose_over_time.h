/* decompose_over_time - of the question decompose: what tensors are for at many moments, each the
 * highest of its stretch of time or of its step.
 */
#ifndef QUESTIONS_DECOMPOSE_OVER_TIME_H
#define QUESTIONS_DECOMPOSE_OVER_TIME_H

#include "questions/tensor_course.h"

struct over_time { /* zeroed: not asked for */
    struct heap_edges edges;
    struct tensor_course course;
    const struct moments_loop *loop;    /* NULL: moments are of equal stretches */
    uint64_t steps[TENSOR_COURSE_MOST]; /* by moment: the number of its step */
    size_t each;                        /* steps for one moment */
};

void over_time_begin(struct asked *q, struct over_time *o);
void over_time_again(struct asked *q, struct over_time *o, struct tensor_state *s);
/* The kinds of tensors are known. */
void over_time_put(struct asked *q, struct over_time *o);
void over_time_free(struct over_time *o);

#endif
