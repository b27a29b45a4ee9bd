/* named - tables, columns and cells by their names: a format that is made for one question finds
 * there what it needs, and knows nothing of the code that answers it.
 */
#ifndef REPORT_NAMED_H
#define REPORT_NAMED_H

#include "base/intmap.h"
#include "questions/table.h"

/* An empty one where it is absent. */
const struct table *named_table(const struct answer *a, const char *name);
/* -1: there is none. */
int named_column(const struct table *t, const char *name);
/* NULL where it is absent; row -1: of no row. */
const struct table_cell *named_cell(const struct table *t, int row, const char *column);

/* As a plain number, whatever its unit; NULL and absent: 0. */
double named_value(const struct table_cell *c);
double named_number(const struct table *t, int row, const char *column);
/* Absent: "". */
const char *named_text(const struct table *t, int row, const char *column);

struct named_rows {       /* of a table with a column "file": by file */
    struct intmap firsts; /* by the place of its name: 1 + its first row */
    int *next;            /* by row: 1 + the next one of the same file; 0: none */
};

void named_rows_find(struct named_rows *r, const struct table *t);
/* 1 + its first row; 0: none. */
int named_rows_first(const struct named_rows *r, const char *file);
void named_rows_free(struct named_rows *r);

#endif
