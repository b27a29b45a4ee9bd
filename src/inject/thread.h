/* thread - a thread's part of the state: made at its first record, handed on when it ends. */
#ifndef INJECT_THREAD_H
#define INJECT_THREAD_H

#include "inject/state.h"

/* The state of this thread, new or left by another; NULL when there is no ring for it. */
struct thread *thread_new(void);

/* The process may have joined another recording: go on there. False: there is no ring for us. */
bool thread_follow(void);

/* A forked child goes on with the only thread it has, in a ring of its own. */
bool thread_reopen(struct thread *t);

/* Put its memory by for a thread to come: it has no ring. */
void thread_spare(struct thread *t);

#endif
