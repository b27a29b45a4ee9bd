/* restart - calls that the kernel repeats by itself after a stop, but ends with EINTR once a
 * handler has run, whatever that handler asked for. One that a sample has ended is made again, for
 * what is left of its time: the program does not see it.
 *
 * Should a signal of the program have come at the same time, the call ends as it would have.
 */
#ifndef INJECT_RESTART_H
#define INJECT_RESTART_H

#include <poll.h>
#include <signal.h>
#include <stddef.h>

/* What a header makes of poll and ppoll. */
int __poll_chk(struct pollfd *fds, nfds_t count, int ms, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *time, const sigset_t *mask,
                size_t room);

#endif
