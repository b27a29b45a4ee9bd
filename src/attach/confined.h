/* confined - what a process may ask the kernel for, where it filters its system calls (seccomp).
 *
 * A call that its filter does not know may be its end. So the filters of all its threads are read
 * and worked out, before it makes a call for us, for each that we or our library could make.
 */
#ifndef ATTACH_CONFINED_H
#define ATTACH_CONFINED_H

#include "trace/ring.h"

#include <stdbool.h>
#include <stdint.h>

#define CONFINED_SEEN 32u

struct confined {
    bool filters;                    /* some thread has one */
    uint64_t never[RING_CALLS / 64]; /* calls that must not be made; see struct ring_entry */
    bool no_files;                   /* it must not make one */
    const char *lacks;               /* a call that is needed and not to be had; NULL: none */
    uint64_t seen[CONFINED_SEEN];    /* filters that were worked out already */
    unsigned int seen_count;
};

bool confined_never(const struct confined *c, long call);
bool confined_no_cpu(const struct confined *c); /* no CPU time can be sampled */

/* Of a thread, as the kernel numbers it: 0, CONFINED_STRICT or CONFINED_FILTERED. */
enum {
    CONFINED_STRICT = 1, /* it may read and write, and nothing else */
    CONFINED_FILTERED = 2,
};
int confined_mode(int pid, int tid);

/* Of a thread that is stopped, the first or a further one: 0; -1: its filters may not be read,
 * errno says why.
 */
int confined_read(struct confined *c, int tid);

#endif
