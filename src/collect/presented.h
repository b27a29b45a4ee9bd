/* presented - processes of other pid namespaces that have presented themselves: each sends its
 * number through a socket without a file, and the kernel says who sent it. What it says holds also
 * when the process has ended before we hear it. See ask_to_know of inject/ask.h for the other side.
 */
#ifndef COLLECT_PRESENTED_H
#define COLLECT_PRESENTED_H

#include "base/intmap.h"

#define PRESENTED_WAITING 64 /* that have come, and not yet sent their number */
#define PRESENTED_NETWORKS 16

struct presented { /* zeroed and not opened: nobody has */
    uint64_t secret;
    struct {
        uint64_t inode; /* of the network namespace */
        int listener;   /* -1: we cannot listen there */
    } networks[PRESENTED_NETWORKS];
    unsigned int network_count;
    struct intmap pids; /* number -> pid, by our numbers */
    struct {
        int fd, pid;
    } waiting[PRESENTED_WAITING];
    unsigned int waiting_count, kept;
};

/* What has to be said along with a number: only who has our memory knows it. 0: nobody can come,
 * where listener is -1, or there is no chance.
 */
uint64_t presented_open(struct presented *p, int listener);

/* A process that is ours may be in another network namespace, from which no name of ours is seen:
 * listen there as well, where we have the right to.
 */
void presented_reach(struct presented *p, int pid);

/* Hear all that have come. */
void presented_take(struct presented *p);

/* The pid of the process that has presented itself by this number, and has come by now; 0: none. */
int presented_pid(struct presented *p, uint32_t number);

void presented_close(struct presented *p);

#endif
