/* function_rows - the functions of a program as a table: what each cost itself, and with all that
 * it called. A function that calls itself is counted once.
 */
#ifndef QUESTIONS_FUNCTION_ROWS_H
#define QUESTIONS_FUNCTION_ROWS_H

#include "model/line_sums.h"
#include "questions/table.h"

struct table *function_rows_add(struct answer *a, const struct line_sums *s);

#endif
