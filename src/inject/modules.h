/* modules - which files the program counters of our stacks belong to, told when first met. */
#ifndef INJECT_MODULES_H
#define INJECT_MODULES_H

#include "inject/cfi.h"
#include "inject/state.h"

void modules_seen(struct thread *t, const struct cfi_module *module);

/* Before a stack is told: its modules, should another thread have told them in a tick that may still
 * last, for its buffer may be read after ours.
 */
void modules_again(struct thread *t, const uint64_t *frames, size_t count);

/* A module may be gone (dlclose): all that is cached of code is void, in every thread. */
void modules_unloaded(struct thread *t);

#endif
