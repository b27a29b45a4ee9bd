/* residence - what the resident memory of a process consists of, as the kernel tells it of each
 * mapping. It walks the page tables: about 13 ms per GiB, while the process may wait for its mmap lock.
 */
#ifndef WATCH_RESIDENCE_H
#define WATCH_RESIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct residence {   /* bytes */
    uint64_t heap;   /* the kernel's [heap] */
    uint64_t stack;  /* of the process and of the threads that are known */
    uint64_t data;   /* private pages of mapped files, and the bss that follows them */
    uint64_t file;   /* other pages of mapped files */
    uint64_t shared; /* shared memory */
    uint64_t anon;   /* all other */
};

struct residence_stack { /* of a thread */
    uint64_t low, bytes;
};

/* Add those of a process to *sum. False: it is gone, not ours to read, or has too many mappings; then
 * *sum is of no use.
 */
bool residence_add(struct residence *sum, int pid, const struct residence_stack *stacks,
                   size_t count);

#endif
