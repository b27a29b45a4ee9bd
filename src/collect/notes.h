/* notes - the rarer records of a ring: stacks, modules, threads, processes, samples, maps, marks.
 */
#ifndef COLLECT_NOTES_H
#define COLLECT_NOTES_H

#include "collect/absorb_state.h"

/* How many words the record at w has; 0: it is none, or longer than it may be. The ring has `left`
 * words from w to its end.
 */
uint64_t notes_take(struct absorb *a, struct absorb_ring *r, const uint64_t *w, uint64_t first,
                    uint64_t left);

/* An unmap that was held back, because it could have failed, is told now. */
void notes_unmap(struct absorb *a, struct absorb_ring *r);

/* A block of the program's own allocator is in this place: what it is mapped in is an arena. */
void notes_pool(struct absorb *a, struct absorb_ring *r, uint64_t address);

#endif
