/* ownstack - where the stack of a thread begins and ends: what a walk may read without asking. */
#ifndef INJECT_OWNSTACK_H
#define INJECT_OWNSTACK_H

#include "inject/state.h"

/* Ask libc, where it may be asked now; else the bounds stay unknown. */
void ownstack_find(struct thread *t);

/* They are known otherwise: from whoever started the thread. */
void ownstack_set(struct thread *t, uintptr_t low, uintptr_t high);

#endif
