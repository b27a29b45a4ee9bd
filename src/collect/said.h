/* said - what a program says of itself: regions, marks, steps and labels, from its rings into the
 * trace.
 */
#ifndef COLLECT_SAID_H
#define COLLECT_SAID_H

#include "collect/absorb_state.h"

/* A MARK of a ring; false: it contradicts itself. */
bool said_take(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first);
/* The thread has ended, and with it what it left open. */
void said_thread_end(struct absorb *a, struct absorb_ring *r);

#endif
