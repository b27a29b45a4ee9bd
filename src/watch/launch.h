/* launch - start the command as if we were not there: its signals, descriptors, limits and terminal
 * are what they would have been.
 */
#ifndef WATCH_LAUNCH_H
#define WATCH_LAUNCH_H

#include "base/err.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct launch {
    char *const *argv;
    char *const *environment; /* NULL: ours */
    bool mute;                /* its output goes nowhere */
    const sigset_t *mask;     /* its signal mask: ours, before we blocked everything */
    bool ignores_children;    /* it begins with SIGCHLD ignored, as we did */
    bool gated;        /* hold it before exec until launch_release: to trace its first step */
    int gate, failure; /* inside: the ends of two pipes, or -1 */
    uint64_t floor;    /* out: our high-water mark, which exec hands on to the command, at most */
};

/* The pid; -1 with *err, whose code is 127 (not found) or 126 (found, but cannot be run).
 */
pid_t launch(struct launch *l, struct err *err);

/* Let a gated command begin. 0, or -1 with *err as above. */
int launch_release(struct launch *l, struct err *err);

#endif
