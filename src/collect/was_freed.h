/* was_freed - memory that had been freed before the program asked to watch it: where it begins, a
 * block began that has died, and no living one covers it. It is told only where every block of its
 * size is known, by a recording without gaps that is exact, or is so from a size on that is no
 * larger than what is watched; and where the program has mapped nothing there since; else nothing
 * is said.
 */
#ifndef COLLECT_WAS_FREED_H
#define COLLECT_WAS_FREED_H

#include "collect/absorb_state.h"

/* A watch has begun there: it may be of freed memory. */
void was_freed_ask(const struct absorb *a, struct absorb_ring *r, uint64_t address, uint64_t bytes);
/* From now on every block of so many bytes and more is told. Anew: what was before this one counts
 * no more; else the largest one does.
 */
void was_freed_limit(const struct absorb *a, struct absorb_process *p, uint64_t from, bool anew);
/* All rings were read up to the end of the tick: who is still thought so is told. */
void was_freed_tell(struct absorb *a, struct absorb_process *p);
void was_freed_free(struct absorb_process *p);

#endif
