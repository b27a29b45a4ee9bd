/* last_look - once, before this process ends, the collector may look which blocks anything still
 * points to.
 */
#ifndef INJECT_LAST_LOOK_H
#define INJECT_LAST_LOOK_H

#include "inject/state.h"

/* Where the recording wants it: tell the collector, and wait until it has looked or has died. */
void last_look(struct thread *t);
/* After a fork: the new process may ask, too. */
void last_look_forked(void);

#endif
