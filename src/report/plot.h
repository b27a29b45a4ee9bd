/* plot - a recording as one picture: memory over time with the program's regions, marks and the
 * peak, and below it CPU time and input and output where they were sampled.
 */
#ifndef REPORT_PLOT_H
#define REPORT_PLOT_H

#include "questions/table.h"
#include "report/canvas.h"

#define PLOT_WIDTH 960

/* What the formats svg and png ask. */
extern const char *const plot_asks[];

double plot_height(const struct answer *a);
void plot_draw(const struct answer *a, struct canvas *c); /* on one of that size */
/* What it shows, in one sentence; in the arena. */
const char *plot_title(const struct answer *a);

#endif
