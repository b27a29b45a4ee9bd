/* rank_said - the program itself says which rank it is; world 0: of how many is not known. */
#ifndef INJECT_RANK_SAID_H
#define INJECT_RANK_SAID_H

#include "inject/event.h"

void ranks_said(uint64_t rank, uint64_t world, struct caller c);

#endif
