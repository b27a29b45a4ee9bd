/* attach - bring our library into a process that runs, and let it join a recording, or leave one.
 * The process goes on unharmed; the library stays in it, idle, when it has left.
 */
#ifndef ATTACH_ATTACH_H
#define ATTACH_ATTACH_H

#include "base/err.h"

#include <stdbool.h>

/* What keeps this process from being recorded; 0, or -1 with *err, whose code is 127 when there is
 * no such process and 126 otherwise. One that is self-loading is never entered from outside.
 */
int attach_check(int pid, bool self_loading, struct err *err);

/* Load the library and join the ring. Where a filter of its system calls keeps CPU time from being
 * sampled, *no_cpu is set.
 */
int attach_enter(int pid, const char *library, const char *ring, bool *no_cpu, struct err *err);

/* Put back all that entering has changed. A process that has ended meanwhile is no error. */
int attach_leave(int pid, struct err *err);

#endif
