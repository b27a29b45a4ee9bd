/* stops - a thread that we trace, stopped and waited for. */
#ifndef ATTACH_STOPS_H
#define ATTACH_STOPS_H

#include <stdbool.h>

#define STOPS_TRIES 400      /* a tenth of a second, for a thread to stop */
#define STOPS_PATIENCE 40000 /* ten seconds: on a busy machine it has to be its turn first */

void stops_nap(long ns);

/* Somebody wants us to end: our signals are all held back. */
bool stops_told_to_end(void);

/* Wait for it to stop, for so many times 250 us; errno is ECHILD where it is gone. */
bool stops_wait(int tid, int *status, int tries);

/* Was that our own request? */
bool stops_is_ours(int status);

/* Stop it where nothing but our own request has stopped it. False: it has not stopped in time, or
 * we are told to end; then it may yet do, and goes on when we have ended.
 */
bool stops_interrupt(int tid);

#endif
