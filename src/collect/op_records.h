/* op_records - the operators that a thread tells of, as records of the trace. */
#ifndef COLLECT_OP_RECORDS_H
#define COLLECT_OP_RECORDS_H

#include "collect/absorb_state.h"

/* A RING_OP_NAME, and a RING_OP; false: it contradicts itself. */
bool ops_take_name(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first);
bool ops_take(struct absorb *a, struct absorb_ring *r, uint64_t first);

#endif
