/* annotate - a table of source lines as the source itself, with the numbers beside it. */
#ifndef REPORT_ANNOTATE_H
#define REPORT_ANNOTATE_H

#include "questions/table.h"
#include "report/terminal.h"

void annotate_put(const struct answer *a, const struct table *t, const struct terminal *terminal,
                  FILE *out);

#endif
