/* pystack - the stack of a thread in another process, as far as its memory shows it: the native
 * frames down to the system call that it is in, and the Python frames below them.
 */
#ifndef COLLECT_PYSTACK_H
#define COLLECT_PYSTACK_H

#include "collect/absorb_state.h"
#include "collect/native_stack.h"

/* The process has told of its interpreter. */
void pystack_python(struct absorb_process *p, uint32_t version, uint64_t runtime, uint64_t bytes,
                    uint64_t code_type);

/* The PyThreadState of a thread; `last`: what it was when it was asked for before, or 0. */
uint64_t pystack_tstate(struct absorb_process *p, uint32_t tid, uint64_t last);

#define PYSTACK_AWAITS 16

struct pystack {
    uint64_t stack;      /* of the trace; 0: nothing is known */
    bool python;         /* functions of Python were found in it */
    unsigned int awaits; /* where it is an event loop that waits: */
    struct {             /* for what its tasks await, one stack for so many of them */
        uint64_t stack, tasks;
    } await[PYSTACK_AWAITS];
};

/* `tstate` 0: it has no interpreter. */
void pystack_of(struct absorb *a, struct absorb_process *p, const struct native_place *at,
                uint64_t tstate, struct pystack *out);

#endif
