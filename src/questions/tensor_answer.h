/* tensor_answer - what the questions about tensors share: they are read again, and told what they
 * are. */
#ifndef QUESTIONS_TENSOR_ANSWER_H
#define QUESTIONS_TENSOR_ANSWER_H

#include "model/tensor_kinds.h"
#include "questions/question.h"

struct tensor_state {
    struct op_stacks stacks;
    struct tensors tensors;
};

/* In `again` of a question whose state begins with a tensor_state. */
void tensor_want(struct asked *q, struct tensor_state *s);
/* In `run`, once all was read; false: there are none, which the table's note says. */
bool tensor_begin(struct asked *q, struct tensor_state *s, struct table *t);
void tensor_end(struct tensor_state *s);

/* The moment that the options ask for, as heap_at_asked. */
struct tensors_moment tensor_moment(const struct heap *h, enum heap_moment standard);
/* When the heap of the stretch that is asked about was largest: to be wanted in `again`, and what
 * was held then. */
struct tensors_moment tensor_peak_moment(const struct heap *h);
void tensor_peak_want(struct heap *h);
struct heap_amount tensor_peak_at(struct heap *h);
const char *tensor_peak_basis(const struct heap *h, const struct heap_amount *peak);
/* Its name in facts, its value and its time. */
void tensor_moment_facts(struct answer *a, struct table *facts, const struct heap *h,
                         const struct heap_amount *sum);

#endif
