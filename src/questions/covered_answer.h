/* covered_answer - what every answer says of its trace: the first and the last line of a report. */
#ifndef QUESTIONS_COVERED_ANSWER_H
#define QUESTIONS_COVERED_ANSWER_H

#include "model/run.h"
#include "questions/table.h"

/* What the trace lacks, and who was recorded. */
void covered_answer(struct answer *a, const struct run *r);

#endif
