/* heap_summary - what a summary says of the allocations of a recording that has them. */
#ifndef QUESTIONS_HEAP_SUMMARY_H
#define QUESTIONS_HEAP_SUMMARY_H

#include "model/heap_rows.h"
#include "questions/table.h"

/* Lines for the table of facts. */
void heap_summary_facts(struct answer *a, struct table *facts, const struct heap *h);

/* What was alive before interpreters freed all they had, where that is something else than what was
 * alive at the end: `leaks` is of it.
 */
void heap_summary_before_end(struct answer *a, struct table *facts, const struct heap *h);

/* The table "peak_sites", the largest sites at the peak. */
void heap_summary_tables(struct answer *a, struct heap *h);

#endif
