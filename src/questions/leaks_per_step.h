/* leaks_per_step - what grows from step to step, for `leaks --per-step`: by stack, with the
 * operator and the kind of tensor where it is one. Not what the first step makes, not caches that
 * are full, not what goes up and down: see step_growth.h.
 */
#ifndef QUESTIONS_LEAKS_PER_STEP_H
#define QUESTIONS_LEAKS_PER_STEP_H

#include "model/step_growth.h"
#include "questions/tensor_answer.h"

struct leaks_per_step {
    struct step_growth growth;
    struct tensor_state tensors;
};

void leaks_per_step_want(struct asked *q, struct leaks_per_step *s);
void leaks_per_step_put(struct asked *q, struct leaks_per_step *s);

#endif
