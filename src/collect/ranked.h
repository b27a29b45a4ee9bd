/* ranked - what a process or its launcher says of its rank, as facts of the process. */
#ifndef COLLECT_RANKED_H
#define COLLECT_RANKED_H

#include "collect/absorb_state.h"

/* Take a RING_MARK_RANK: which of RING_RANKS, and the digits. False: it is none. */
bool ranked_take(struct absorb *a, struct absorb_process *p, uint64_t which, const char *digits,
                 uint64_t count);

#endif
