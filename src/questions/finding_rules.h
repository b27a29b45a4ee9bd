/* finding_rules - what only findings*.c share: the rules, by what they are about. */
#ifndef QUESTIONS_FINDING_RULES_H
#define QUESTIONS_FINDING_RULES_H

#include "questions/findings.h"

void findings_add(struct findings *f, const struct finding *one);
/* The file, number and text of a line of blame; and "file.py:12". */
void findings_at_line(const struct findings *f, struct finding *to, uint32_t line);
const char *findings_place(const struct findings *f, uint32_t line);

/* "certain", or "likely" where it is estimated or something was lost. */
const char *findings_sure(const struct heap *h);
/* The line that pays for a row, where lines are known; else its site. */
void findings_at_stack(const struct findings *f, struct finding *to, const struct heap_row *row);
/* The largest site by a weight, as text. */
const char *findings_largest(struct findings *f, heap_weight *weight, struct finding *to);

void findings_want_leaks(struct findings *f);
void findings_of_memory(struct findings *f);
void findings_of_leaks(struct findings *f);
void findings_of_resident(struct findings *f);
void findings_of_refused(struct findings *f);
void findings_of_time(struct findings *f);    /* where lines are known */
void findings_of_records(struct findings *f); /* what is odd about the recording itself */

#endif
