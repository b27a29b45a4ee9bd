/* diff - two recordings, or two moments of one, compared by stack.
 *
 * Stacks of two recordings are the same where their functions are, in the same library or in the
 * program, whatever its file is called: addresses and lines are not looked at, so that two builds
 * compare. What a compiler appends to a name (.cold, .isra.0) and what a library's file has after
 * ".so" do not count. Frames without a name are told apart by their module alone. How lines are
 * matched is said in diff_lines.h.
 */
#ifndef QUESTIONS_DIFF_H
#define QUESTIONS_DIFF_H

#include "questions/question.h"

/* What is sorted by: stacks by the first three, lines by the others. */
enum diff_by { DIFF_BY_PEAK, DIFF_BY_ALLOCATED, DIFF_BY_LEAKED, DIFF_BY_CPU, DIFF_BY_WAITING };

/* What a and b held at their peaks, allocated in all and left at their ends, by stack; their CPU
 * time and waiting by line; the rows that differ most first. `o` is of either: their spaces count,
 * and the rows of the first. 0, or -1 with *err.
 */
int diff_traces(struct recorded *a, struct recorded *b, enum diff_by by,
                const struct selection o[2], struct answer *answer, struct err *err);

/* What lived at o->from_ns and at o->to_ns; to_ns 0: and when each process ended. */
int diff_moments(struct recorded *r, const struct selection *o, struct answer *answer,
                 struct err *err);

#endif
