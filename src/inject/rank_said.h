/* rank_said - which rank a program is: as it starts, by its environment, and when it says so
 * itself. */
#ifndef INJECT_RANK_SAID_H
#define INJECT_RANK_SAID_H

#include "inject/event.h"

void ranks_start(struct caller c);
/* world 0: of how many is not known */
void ranks_said(uint64_t rank, uint64_t world, struct caller c);

#endif
