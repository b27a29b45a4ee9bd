/* unwind - from a call to the number of its stack. */
#ifndef INJECT_UNWIND_H
#define INJECT_UNWIND_H

#include "inject/state.h"

/* The stack of the call, or 0 (too many stacks). Never faults, never allocates, keeps errno. */
uint32_t unwind_stack(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp);

/* The same for a call of Python's own allocators: who calls them holds the GIL. */
uint32_t unwind_python(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp);

/* The stack of memory that is allocated: outside of a window the one that says so. */
uint32_t unwind_outside(struct thread *t);
static inline uint32_t unwind_block(struct thread *t, struct caller c)
{
    return process_mode() & RING_OUTSIDE ? unwind_outside(t) : unwind_stack(t, c.pc, c.sp, c.fp);
}

/* The same for a thread that a signal interrupted, where the registers are not those of a call. */
uint32_t unwind_interrupted(struct thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp);

/* Modules may have gone: what the thread remembers of them is void. */
void unwind_forget(struct thread *t);

#endif
