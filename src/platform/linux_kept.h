/* linux_kept - the files that are kept open of a process; inside of linux_procfs.c and
 * linux_threads.c.
 */
#ifndef PLATFORM_LINUX_KEPT_H
#define PLATFORM_LINUX_KEPT_H

#include "platform/platform.h"

struct proc_thread {
    int tid, children;       /* the kept descriptor, -1: opened for each reading */
    uint64_t waited, forced; /* context switches, when last read */
};

struct proc_kept {
    int stat, status, io; /* kept descriptors; -1: opened for each reading */
    int statm;            /* likewise; -1: not yet */
    char sizes[64];       /* what statm said last */
    struct proc_thread *threads;
    int thread_count, thread_room;
    uint64_t gone_waited, gone_forced; /* switches of threads that ended */
};

/* Nothing is open yet. */
struct proc_kept *kept_new(void);
/* A file below /proc/PID; -1 with errno. */
int kept_file(int pid, const char *name);

/* The kernel keeps switches per thread, and forgets a thread's when it ends: sum them up. */
void threads_switches(struct proc *p, struct proc_reading *r);
/* The thread has ended: what it had counts on. */
void threads_drop(struct proc_kept *k, int i);

#endif
