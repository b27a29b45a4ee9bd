/* unnamed_answer - why functions that an answer shows have no name: what the recorder found out of
 * each module where some have none.
 */
#ifndef QUESTIONS_UNNAMED_ANSWER_H
#define QUESTIONS_UNNAMED_ANSWER_H

#include "model/frames.h"
#include "questions/table.h"

/* Of an answer that is filled. */
void unnamed_answer(struct answer *a, const struct frames *f);

#endif
