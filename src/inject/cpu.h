/* cpu - where CPU time goes: each thread is interrupted by a timer on its own CPU clock, and what
 * it did is charged with the CPU time it has used since the interruption before.
 *
 * The weight is measured, so it does not matter how late the kernel sends the signal, nor that it
 * looks at its timers only once per tick. A thread that waits is never interrupted.
 *
 * The signal is a real-time one that nobody uses. Should the program ask for that very one, it gets
 * it, and we move to another; while there is none left, there are no samples. What a thread has
 * used since its last sample is told at its end, without a stack, so nothing is lost from the sum.
 */
#ifndef INJECT_CPU_H
#define INJECT_CPU_H

#include "inject/state.h"

/* Who makes a record of an interruption, with cpu_take: before the first thread begins. */
void cpu_sampled_by(void (*function)(struct caller at));
void cpu_take(struct thread *t, struct caller at);

/* The thread begins to be sampled, if that is wanted; after a fork it does so again. */
void cpu_begin(struct thread *t);
void cpu_end(struct thread *t);

/* The thread was borrowed, perhaps from a wait that our hooks know nothing of: it shall be back
 * there before its first sample comes.
 */
void cpu_settle(void);

/* In a forked child, whose timers are gone, before its first record. */
void cpu_forked(void);

/* The signal in use, 0: none; and the program wants it for itself. */
int cpu_signal(void);
void cpu_yield(void);

/* The process is no longer recorded. */
void cpu_leave(void);

#endif
