/* earlier - what an earlier attempt to enter a process left in it. */
#ifndef ATTACH_EARLIER_H
#define ATTACH_EARLIER_H

#include "base/err.h"

/* -1 with *err: it must not be entered, or not now. */
int earlier_check(int pid, struct err *err);

#endif
