/* started - which stack of Python started a program: without it, whose line that was is a guess by
 * time.
 */
#ifndef INJECT_STARTED_H
#define INJECT_STARTED_H

#include "arch/arch.h"

#include <sys/types.h>

/* A process is what was started here: one that was spawned, or this one, just before its exec. */
void started_tell(pid_t pid, struct caller by);

#endif
