/* member_end - a recorded process has ended, or is let go: the rest of its rings is read, they are
 * given back, and what was lost of it is said.
 */
#ifndef COLLECT_MEMBER_END_H
#define COLLECT_MEMBER_END_H

#include "collect/members.h"
#include "trace/format.h"

/* `outlived`: it runs on, without us. */
void member_end(struct collect *c, struct member *m, bool outlived);

/* Say how many were lost, if any; m NULL: of no single process. */
void member_loss(struct collect *c, const struct member *m, enum trace_lost what, uint64_t count);

#endif
