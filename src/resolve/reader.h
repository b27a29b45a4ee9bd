/* reader - the process that reads files of code for the resolver: started when something is asked,
 * heard with patience, and stopped.
 */
#ifndef RESOLVE_READER_H
#define RESOLVE_READER_H

#include "base/err.h"
#include "resolve/resolved.h"
#include "resolve/wire.h"

#include <limits.h>
#include <sys/types.h>

struct helper {
    const struct resolver_options *options;
    char path[PATH_MAX];
    int socket; /* -1: it is not running */
    pid_t pid;
    int failures; /* how often it broke down; counted by those who ask */
    int64_t failed_ms;
    char broken[512]; /* a sentence: no names at all, or not of all; "": there is none */
    char *message;    /* WIRE_MOST bytes */
};

/* Where it is; -1 with *err when it is not there. */
int helper_find(struct helper *h, struct err *err);

/* False when it cannot start, or broke down too often. It is not started twice. */
bool helper_start(struct helper *h);

/* Says the first bytes of `message`; and hears one that comes within so many ms: its length, 0 when
 * there is none.
 */
bool helper_say(struct helper *h, size_t bytes);
size_t helper_hear(struct helper *h, int patience_ms);

/* Its status; 0 when it does not run. */
int helper_stop(struct helper *h, bool at_once);

#endif
