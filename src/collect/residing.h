/* residing - which pages of a process's large blocks and of its mappings are really there. */
#ifndef COLLECT_RESIDING_H
#define COLLECT_RESIDING_H

#include "collect/absorb_state.h"

/* Look, and put what is resident into the trace. False: that is denied, or the process is gone. */
bool residing_look(struct absorb *a, struct absorb_process *p, uint64_t time_ns);

#endif
