/* borrowed - a thread of another process in our hands: what borrow takes, and remote calls through.
 */
#ifndef ATTACH_BORROWED_H
#define ATTACH_BORROWED_H

#include "arch/stopped.h"
#include "attach/confined.h"
#include "attach/loaded.h"

#include <stdint.h>
#include <sys/types.h>

#define REMOTE_SCRATCH "tidemark-entering" /* the name of our memory there */
#define REMOTE_SCRATCH_BYTES (512u << 10)
#define REMOTE_BROKEN 0x6e656b6f7262ull /* its first word, where it must not be tried again */

struct remote {
    const struct loaded *process;
    int tid;
    bool entered; /* a thread of it could be stopped */
    bool blocked; /* its signals are held back */
    bool gone;    /* let go in the midst of a call, after which it finds back by itself */
    bool broken;  /* a call has met a fault */
    struct confined confined;    /* what its filters let it do */
    struct arch_stopped was;     /* what it was */
    long repeat;                 /* the call that it waited in; -1: it was running */
    struct arch_landing landing; /* where a system call can be made, and where it finds back */
    uint64_t own_stack; /* where the way back can be prepared on its own stack; 0: nowhere */
    uint64_t scratch;   /* memory of ours there; 0: none yet */
};

#endif
