/* chart - one column of a timeline, drawn with characters. The largest value of every stretch of
 * time is what is drawn, so no peak is lost however few columns there are.
 */
#ifndef REPORT_CHART_H
#define REPORT_CHART_H

#include "questions/table.h"
#include "report/terminal.h"

/* A filled chart with both axes, as wide as the terminal. */
void chart_draw(const struct table *t, int column, const struct terminal *terminal, FILE *out);

/* The same on one line, `width` characters. */
void chart_line(const struct table *t, int column, int width, const struct terminal *terminal,
                FILE *out);

/* A series on one line: each character is the largest of its stretch of time. */
void chart_series(const struct table_series *s, int width, const struct terminal *terminal,
                  FILE *out);

/* The least and the largest value of a column; false where all of it is absent. */
bool chart_range(const struct table *t, int column, struct table_cell *least,
                 struct table_cell *most);

#endif
