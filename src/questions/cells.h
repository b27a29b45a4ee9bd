/* cells - metrics into the cells of a table; an absent metric leaves its cell absent. */
#ifndef ANALYZE_CELLS_H
#define ANALYZE_CELLS_H

#include "analyze/run.h"
#include "analyze/table.h"

/* The tree and the machine at the tick being handed out. */
void cells_tree(struct table_cell *c, const struct run *r, enum trace_metric metric);
void cells_machine(struct table_cell *c, const struct run *r, enum trace_metric metric);
void cells_percent(struct table_cell *c, bool known, double percent);

/* Of one process: the largest value seen, and what it used of a counter. */
void cells_most(struct table_cell *c, const struct run_process *p, enum trace_metric metric);
void cells_own(struct table_cell *c, const struct run_process *p, enum trace_metric metric);
void cells_peak(struct table_cell *c, const struct run_process *p);

#endif
