/* taskstats - the kernel's own record of every process at its exit: its final marks, exact, without
 * a stop and without sampling. Needs root (CAP_NET_ADMIN) and Linux 5.19.
 */
#ifndef WATCH_TASKSTATS_H
#define WATCH_TASKSTATS_H

#include "base/err.h"
#include "watch/tree.h"

struct taskstats_pending;

struct taskstats_reader {
    int fd; /* -1: closed; poll it for reading */
    uint16_t family;
    uint64_t lost;                     /* records that the kernel had to drop */
    struct taskstats_pending *pending; /* whose parent is not known yet */
    size_t pending_count, pending_room;
};

/* 0, or -1 with *err when the kernel does not give them to us. */
int taskstats_open(struct taskstats_reader *s, struct err *err);

/* Take what has arrived; processes of the tree are given to tree_ended. */
void taskstats_drain(struct taskstats_reader *s, struct tree *t);

void taskstats_close(struct taskstats_reader *s);

#endif
