/* context - what this process and this thread have said of their work that goes on to hold: how
 * many steps have ended, and the labels of the thread. A forked child, a ring of a new recording
 * and one that was full for a time are told of it again.
 */
#ifndef INJECT_CONTEXT_H
#define INJECT_CONTEXT_H

#include "inject/state.h"

/* A step has ended: the how manieth of this process. */
uint64_t context_step(void);

/* The thread's label of a key, which is the first part of `text`, is the rest of it, or none. */
void context_label(struct thread *t, const char *text, size_t first, size_t bytes, bool set);

void context_forked(void);
/* A thread begins: it has no labels. */
void context_begin(struct thread *t);
/* Tell what holds; the ring knows nothing of it, or it does not matter what it knows. */
void context_tell(struct thread *t);

#endif
