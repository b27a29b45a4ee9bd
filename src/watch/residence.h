/* residence - what the resident memory of a process consists of, from the kernel's counts and from
 * those pages that are worth looking at.
 */
#ifndef WATCH_RESIDENCE_H
#define WATCH_RESIDENCE_H

#include "watch/procfs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct residence {   /* bytes */
    uint64_t heap;   /* the kernel's [heap] */
    uint64_t stack;  /* of the process and of the threads that are known */
    uint64_t data;   /* private pages of writable mapped files, and the bss that follows them */
    uint64_t file;   /* pages of mapped files */
    uint64_t shared; /* shared memory */
    uint64_t anon;   /* all other */
};

struct residence_stack { /* of a thread */
    uint64_t low, bytes;
};

/* Add those of a process to *sum; `now` was just read. False: it is gone, not ours to read, or has too
 * much to look at; then *sum is of no use.
 */
bool residence_add(struct residence *sum, int pid, const struct proc_reading *now,
                   const struct residence_stack *stacks, size_t count);

#endif
