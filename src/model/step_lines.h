/* step_lines - steps by the lines of a program that call its optimizers, or compute gradients: one
 * ends where such a line is left. What is made within it, by a closure, a hook or an optimizer of
 * the program's own, is of the same step. Of lines that take turns the one with the most steps
 * counts, and of these the last; lines that follow each other are loops of their own, and count one
 * after the other.
 */
#ifndef MODEL_STEP_LINES_H
#define MODEL_STEP_LINES_H

#include "model/step_birth.h"

/* The ends of the steps of the thread that makes most, as step_find_ends; 0: none were found. */
size_t step_lines_ends(const struct step_birth *births, size_t count, enum op_phase phase,
                       uint64_t *ends);

/* When a step has ended that no birth comes after: so long after its last one that what it holds
 * itself is gone, and before the program goes on to something else. The pause is that of the step
 * before.
 */
uint64_t step_lines_after(uint64_t last_ns, uint64_t pause_ns);

#endif
