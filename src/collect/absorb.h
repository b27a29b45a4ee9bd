/* absorb - the records of one ring become records of the trace. Used by collect alone. */
#ifndef COLLECT_ABSORB_H
#define COLLECT_ABSORB_H

#include "collect/absorb_state.h"

/* Read the ring up to the first record later than `until`, or its end; words that were read are
 * zero again. How many were.
 */
uint64_t absorb_ring(struct absorb *a, struct absorb_ring *r, uint64_t until);

/* All rings of the process were read up to the end of a tick; r is one of them. */
void absorb_tick_end(struct absorb *a, struct absorb_ring *r);

void absorb_process_free(struct absorb *a, struct absorb_process *p);

#endif
