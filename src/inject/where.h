/* where - what a program counter says about the time that is spent there. */
#ifndef INJECT_WHERE_H
#define INJECT_WHERE_H

#include "inject/state.h"

/* Before the first sample. */
void where_start(void);

/* Is the instruction before it a system call, or the one that it stands on? */
bool where_after_call(uintptr_t pc);
bool where_at_call(uintptr_t pc);

/* Of an interrupted instruction: enum ring_cpu and its flags. In the handler, after
 * unwind_interrupted.
 */
unsigned int where_kind(struct thread *t, uintptr_t pc);

#endif
