/* json_cells - the cells of a table as JSON, as the formats json and jsonl have them. */
#ifndef REPORT_JSON_CELLS_H
#define REPORT_JSON_CELLS_H

#include "base/emit.h"
#include "questions/table.h"

#define JSON_SCHEMA 1

const char *json_unit(enum table_unit unit); /* how it is called */
void json_cell(struct emit *j, const struct table_cell *c);
void json_row(struct emit *j, const struct table *t, int row); /* an object, on one line */

#endif
