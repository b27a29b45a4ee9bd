/* thread - a thread's part of the state: made at its first record, handed on when it ends. */
#ifndef INJECT_THREAD_H
#define INJECT_THREAD_H

#include "inject/state.h"

bool thread_start(void); /* once per process */

/* The state of this thread, new or left by another; NULL when there is no ring for it. */
struct thread *thread_new(void);

/* Find the bounds of the thread's own stack, where that could not be done at its first record. */
void thread_find_stack(struct thread *t);

/* The process may have joined another recording: go on there. False: there is no ring for us. */
bool thread_follow(void);

/* A forked child goes on with the only thread it has, in a ring of its own. */
bool thread_reopen(struct thread *t);

#endif
