/* halt - stop all threads of a process, so that its memory can be read as of one
 * moment.
 *
 * They are stopped as borrow stops one, without a signal, and go on in the same way: a system call
 * that one waited in goes on. If we die, the kernel lets them go.
 */
#ifndef ATTACH_HALT_H
#define ATTACH_HALT_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct halt_thread {
    int tid;
    uint64_t stack; /* where it stands */
    uint64_t data;  /* where libc keeps the thread's own */
};

struct halt {
    int pid;
    uint64_t since_ns;
    struct halt_thread *threads;
    uint64_t *words; /* all that is in their registers */
    size_t count, room, word_count, word_room;
    struct halt_saved *saved; /* as many as threads */
    size_t saved_room;
    struct halt_reach *reach; /* how they are reached */
};

/* Until halt_release. -1 with *err: they go on. */
int halt_all(struct halt *h, int pid, struct err *err);

/* How long they stood still, in nanoseconds. */
uint64_t halt_release(struct halt *h);

#endif
