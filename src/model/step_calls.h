/* step_calls - steps of an optimizer that makes all that its program makes, by a closure that it
 * calls as often as its search takes (L-BFGS): its line in the program is never left, but the line
 * within its own `step` goes back to where that begins, which is the first call of the closure.
 * Where the first calls do not all make the same number of tensors, one of them may have been two
 * steps: then nothing is told.
 */
#ifndef MODEL_STEP_CALLS_H
#define MODEL_STEP_CALLS_H

#include "model/step_birth.h"

/* The ends of the steps, as step_find_ends; 0: none can be told. */
size_t step_calls_ends(const struct step_birth *births, size_t count, uint64_t *ends);

#endif
