/* blocked - why a recorded thread does not run, looked at from outside: no signal, no stop.
 *
 * How long a thread was blocked, and how long it was ready but found no CPU, is the scheduler's own
 * account (schedstat). Where and why is looked up at each look: the system call that it is in, and
 * the Python frames as they stand in its memory; a thread that has not run since the last look is
 * where it was. So the sum is exact, and its places are sampled.
 */
#ifndef COLLECT_BLOCKED_H
#define COLLECT_BLOCKED_H

#include "collect/absorb.h"

struct blocked_thread;

/* Look at the thread of one ring. Not more often than every few ms. */
void blocked_look(struct absorb *a, struct absorb_ring *r, uint64_t now_ns);

/* It was never looked at, or not for long: whatever that costs, it is time. */
bool blocked_is_due(const struct absorb_ring *r, uint64_t now_ns);

/* The thread is gone, or its ring has another: put out what is left. */
void blocked_end(struct absorb *a, struct absorb_ring *r, uint64_t now_ns);

#endif
