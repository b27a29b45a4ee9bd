/* diff_ops - two runs of a deep-learning program, or two steps of one, compared operator by
 * operator: those that allocate tensors are matched in their order, so that what one of them
 * allocates more is its own change, and not that of the next.
 */
#ifndef QUESTIONS_DIFF_OPS_H
#define QUESTIONS_DIFF_OPS_H

#include "questions/question.h"

/* b may be a. Each side is about from_ns .. to_ns of its selection. 0, or -1 with *err. */
int diff_ops(struct recorded *a, const struct selection *of_a, struct recorded *b,
             const struct selection *of_b, struct answer *answer, struct err *err);

#endif
