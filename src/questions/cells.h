/* cells - metrics into the cells of a table; an absent metric leaves its cell absent. */
#ifndef QUESTIONS_CELLS_H
#define QUESTIONS_CELLS_H

#include "model/run.h"
#include "questions/table.h"

/* The tree and the machine at the tick being handed out. */
void cells_tree(struct table_cell *c, const struct run *r, enum trace_metric metric);
void cells_machine(struct table_cell *c, const struct run *r, enum trace_metric metric);
void cells_percent(struct table_cell *c, bool known, double percent);

/* Its pid, where it is known: one that nobody could identify has none. */
void cells_pid(struct table_cell *c, const struct run_process *p);

/* Of one process: the largest value seen, and what it used of a counter. */
void cells_most(struct table_cell *c, const struct run_process *p, enum trace_metric metric);
void cells_own(struct table_cell *c, const struct run_process *p, enum trace_metric metric);
void cells_peak(struct table_cell *c, const struct run_process *p);

#endif
