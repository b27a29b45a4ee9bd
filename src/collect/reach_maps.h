/* reach_maps - where pointers may stand in a process that are not in one of its blocks. */
#ifndef COLLECT_REACH_MAPS_H
#define COLLECT_REACH_MAPS_H

#include "collect/members.h"

/* Call `scan` for each such stretch of memory; some may overlap. False: its maps cannot be read. */
bool reach_roots(const struct collect *c, struct member *m,
                 void (*scan)(void *context, uint64_t from, uint64_t to), void *context);

#endif
