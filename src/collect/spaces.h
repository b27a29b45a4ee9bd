/* spaces - what a program told of memory besides the host's own, as records of the trace.
 *
 * Rings are read tick by tick but in any order within one, and a handle that one thread gives back
 * another may have in the same tick. These events are few and have the program's own clock: so all
 * of a tick wait for its end, and are taken in the order of their times.
 *
 * A free has the time before its call, and is told after it, if it was carried out. So another
 * thread may have the same handle, and have told so, in an earlier tick: a block that is met alive
 * has ended, and a free that is older than the block it names was of that one.
 */
#ifndef COLLECT_SPACES_H
#define COLLECT_SPACES_H

#include "collect/absorb_state.h"

/* A RING_SPACE; false: it contradicts itself. */
bool spaces_take(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first);

/* A tick of the process was read. */
void spaces_settle(struct absorb *a, struct absorb_process *p);

#endif
