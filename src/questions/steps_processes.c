/* steps_processes - of the question steps: whose a row is. */
#include "questions/steps_answer.h"

void steps_read_processes(struct steps_answer *w)
{
    const struct run *r = &w->recorded->run;

    for (size_t i = 0; i < r->process_count; i++)
        intmap_put(&w->processes, r->processes[i]->number, i);
}

void steps_pid(struct table_cell *pid, struct table_cell *rank, const struct steps_answer *w,
               uint64_t process)
{
    const struct run_process *p;
    uint64_t place;

    if (!intmap_get(&w->processes, process, &place))
        return;
    p = w->recorded->run.processes[place];
    if (p->pid)
        cell_number(pid, p->pid);
    if (rank && p->ranks[RANK_RANK].known)
        cell_number(rank, p->ranks[RANK_RANK].number);
}
