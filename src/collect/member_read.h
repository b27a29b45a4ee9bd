/* member_read - the rings of one process, read in the order of their ticks: always the one that is
 * furthest behind, up to where the next begins.
 */
#ifndef COLLECT_MEMBER_READ_H
#define COLLECT_MEMBER_READ_H

#include "collect/members.h"

/* Read what was written up to the tick `last`; how many words. */
uint64_t member_read(struct collect *c, struct member *m, uint64_t last);

/* Does a ring hold anything that was not read? */
bool member_has_words(const struct absorb_ring *r);

#endif
