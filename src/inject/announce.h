/* announce - the records by which a process and its threads show themselves to the collector. */
#ifndef INJECT_ANNOUNCE_H
#define INJECT_ANNOUNCE_H

#include "inject/state.h"

/* A thread with a fresh ring; the process before its first one. */
void announce_thread(struct thread *t);

/* We are another process than the one that was shown, or the collector is another. */
void announce_anew(void);

#endif
