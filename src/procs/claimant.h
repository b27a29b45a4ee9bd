/* claimant - a process that has begun to record itself, by its own words. */
#ifndef PROCS_CLAIMANT_H
#define PROCS_CLAIMANT_H

#include <stdbool.h>

struct claimant {
    int pid;          /* 0: not known */
    int parent;       /* a pid; 0: not known */
    bool forked;      /* from another that records itself, as a copy of it; else it is of an exec */
    const char *file; /* that it runs */
    const char *name;
};

#endif
