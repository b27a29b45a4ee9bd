/* ptracer - every process stopped for a moment at its birth and at its exit, so that its final mark
 * is read whatever the interval. Needs no privilege; slows fork and thread creation, keeps other
 * debuggers out, and a set-user-id program runs without its privilege under it.
 */
#ifndef WATCH_PTRACER_H
#define WATCH_PTRACER_H

#include "base/err.h"
#include "watch/tree.h"

/* Begin with a process that stands at its gate. */
int ptracer_seize(int pid, struct err *err);

/* Handle a stop that wait4(__WALL) reported. True: it was one and is done with; false: an ending. */
bool ptracer_stopped(struct tree *t, int pid, int status);

/* Is this the stop of a process or thread that is about to end? */
bool ptracer_at_exit(int status);

#endif
