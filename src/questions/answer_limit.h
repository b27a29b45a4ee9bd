/* answer_limit - an answer is no larger than a trace of this size warrants (ALLOWED_ANSWER):
 * whoever makes a trace can have a long name in a million rows, or a million rows of next to
 * nothing. What does not fit is left out, the least of it last: long texts are cut, timelines
 * become coarser, then the last rows go. Whatever the limits of the reader have kept out is said in
 * answer.left_out.
 */
#ifndef QUESTIONS_ANSWER_LIMIT_H
#define QUESTIONS_ANSWER_LIMIT_H

#include "model/recorded.h"
#include "questions/table.h"

void answer_limit(struct answer *a, const struct recorded *r);
/* Of two traces. */
void answer_limit_both(struct answer *a, const struct recorded *one, const struct recorded *two);

#endif
