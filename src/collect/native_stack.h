/* native_stack - the native frames of a thread in another process that stands still, by its memory
 * alone: no signal, no stop (see far_walk.h).
 */
#ifndef COLLECT_NATIVE_STACK_H
#define COLLECT_NATIVE_STACK_H

#include "collect/absorb_state.h"

#define NATIVE_FRAMES_MOST 256

struct native_place { /* where a thread is, by the kernel's word */
    uint64_t pc, sp;
    bool exact; /* it waits at this instruction, not in the system call before it */
};

struct native_stack {                    /* innermost first */
    uint64_t frames[NATIVE_FRAMES_MOST]; /* addresses, and RING_FRAME_GUESSED */
    size_t count;                        /* 1 at least */
    bool whole;
};

void native_stack_read(struct absorb *a, struct absorb_process *p, const struct native_place *at,
                       struct native_stack *out);

/* The innermost frames before those of the file of code that has something at `address`; whether
 * there are any of those.
 */
bool native_stack_before(struct absorb_process *p, const struct native_stack *s, uint64_t address,
                         size_t *count);

#endif
