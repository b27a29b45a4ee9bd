/* cells - see cells.h. */
#include "questions/cells.h"

#include "model/process_tree.h"

void cells_tree(struct table_cell *c, const struct run *r, enum trace_metric metric)
{
    uint64_t value;

    if (run_tree(r, metric, &value))
        cell_number(c, value);
}

void cells_machine(struct table_cell *c, const struct run *r, enum trace_metric metric)
{
    uint64_t value;

    if (metrics_get(&r->machine, metric, &value))
        cell_number(c, value);
}

void cells_percent(struct table_cell *c, bool known, double percent)
{
    if (known)
        cell_real(c, percent);
}

void cells_pid(struct table_cell *c, const struct run_process *p)
{
    if (p->pid)
        cell_number(c, p->pid);
}

void cells_most(struct table_cell *c, const struct run_process *p, enum trace_metric metric)
{
    uint64_t value;

    if (metrics_get(&p->most, metric, &value))
        cell_number(c, value);
}

void cells_own(struct table_cell *c, const struct run_process *p, enum trace_metric metric)
{
    uint64_t value;

    if (run_own(p, metric, &value))
        cell_number(c, value);
}

void cells_peak(struct table_cell *c, const struct run_process *p)
{
    uint64_t value;

    if (process_tree_peak(p, &value))
        cell_number(c, value);
}
