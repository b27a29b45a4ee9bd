/* rows - a table of rows for reading in a terminal: numbers first, then texts, trees with branches,
 * stacks below their rows.
 */
#ifndef REPORT_ROWS_H
#define REPORT_ROWS_H

#include "questions/table.h"
#include "report/terminal.h"

/* `whole`: every frame of a stack, not only the first of the program's own. */
void rows_put(const struct table *t, bool whole, const struct terminal *terminal, FILE *out);

#endif
