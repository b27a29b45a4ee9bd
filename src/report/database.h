/* database - a file of SQLite with tables and rows, made in memory: version 3 of its documented
 * format, tables alone, filled once. The library itself would be a third of the tool, which every
 * command starts, and of its packages.
 */
#ifndef REPORT_DATABASE_H
#define REPORT_DATABASE_H

#include "report/sql.h"

#include <stdio.h>

struct database;

struct database *database_begin(void);
void database_table(struct database *d, const struct sql_table *t);
void database_row(struct database *d, const struct sql_table *t, const struct sql_value *values,
                  int count);
/* Write it, and forget it. */
void database_end(struct database *d, FILE *out);

#endif
