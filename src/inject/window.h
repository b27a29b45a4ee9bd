/* window - which part of its run a process tells with stacks: the steps that were asked for, or
 * what it says itself by tidemark_start and tidemark_stop.
 */
#ifndef INJECT_WINDOW_H
#define INJECT_WINDOW_H

#include "inject/state.h"

/* A step of this process has ended, the how manieth: the next one may be in a window. */
void window_step(struct thread *t, uint64_t ended);

/* It is in a window from here on, or outside. */
void window_move(struct thread *t, bool inside);

/* A new recording begins. */
void window_begin_anew(void);

/* 1: it was in one before, as far as is known; else 0. */
uint64_t window_been(void);

#endif
