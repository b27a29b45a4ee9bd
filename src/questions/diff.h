/* diff - two recordings, or two moments of one, compared by stack.
 *
 * Stacks of two recordings are the same where their functions are, in the same library or in the
 * program, whatever its file is called: addresses and lines are not looked at, so that two builds
 * compare. What a compiler appends to a name (.cold, .isra.0) and what a library's file has after
 * ".so" do not count. Frames without a name are told apart by their module alone.
 */
#ifndef ANALYZE_DIFF_H
#define ANALYZE_DIFF_H

#include "analyze/question.h"

enum diff_by { DIFF_BY_PEAK, DIFF_BY_ALLOCATED, DIFF_BY_LEAKED }; /* what is sorted by */

/* What a and b held at their peaks, allocated in all and left at their ends; the rows that differ
 * most first. o->rows counts. 0, or -1 with *err.
 */
int diff_traces(struct trace *a, struct trace *b, enum diff_by by, const struct question_options *o,
                struct answer *answer, struct err *err);

/* What lived at o->from_ns and at o->to_ns; to_ns 0: and when each process ended. */
int diff_moments(struct trace *t, const struct question_options *o, struct answer *answer,
                 struct err *err);

#endif
