/* faults - SIGSEGV and SIGTRAP while memory is guarded: ours are taken, all others get what the
 * program wants done about them, with its flags, its mask and its stack. It sees its own handlers
 * as the ones that are set.
 *
 * A thread that has blocked SIGSEGV would be ended by a fault: so neither is ever really blocked
 * from the first guard on, though the program believes that it is.
 */
#ifndef INJECT_FAULTS_H
#define INJECT_FAULTS_H

#include "inject/guard.h"
#include "inject/state.h"

#include <signal.h>

/* Who is told of a write to a guarded page, where it was about to be made. */
typedef void faults_written(const struct guard_hit *hit, uintptr_t address, struct caller at);

/* Take both signals, once. False: the kernel does not let us. */
bool faults_start(faults_written *written);
/* Give them back: nothing is guarded any more. */
void faults_stop(void);

/* Are they ours? */
bool faults_any(void);

/* For the hooks of signals.c, where they are: as sigaction(2) of the program, and what is left of a
 * set that it blocks.
 */
bool faults_is_ours(int number);
int faults_action(int number, const struct sigaction *action, struct sigaction *before);
const sigset_t *faults_never_blocked(const sigset_t *set, sigset_t *copy);
/* What the program believes of this thread's mask, before and after a change that was made. */
void faults_show(sigset_t *mask);
void faults_believe(int how, const sigset_t *set);

#endif
