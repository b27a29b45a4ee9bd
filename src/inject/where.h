/* where - what a program counter says about the time that is spent there. */
#ifndef INJECT_WHERE_H
#define INJECT_WHERE_H

#include "inject/state.h"

/* Before the first sample. */
void where_start(void);

/* Of an interrupted instruction: enum ring_cpu and its flags. In the handler, after
 * unwind_interrupted.
 */
unsigned int where_sort(struct thread *t, uintptr_t pc);

#endif
