/* ringcopy - one of the rarer records, taken out of a ring that somebody else can write to. */
#ifndef COLLECT_RINGCOPY_H
#define COLLECT_RINGCOPY_H

#include "trace/ring.h"

/* Copy the record at w, whose first word is `first`, to `to`, which has room for RING_RECORD_MOST
 * words; the ring has `left` words from w to its end. How many words the record has; 0: it is none,
 * or longer than it may be.
 */
uint64_t ringcopy(uint64_t *to, const uint64_t *w, uint64_t first, uint64_t left);

#endif
