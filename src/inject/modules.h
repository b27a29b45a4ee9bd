/* modules - which files the program counters of our stacks belong to, told when first met. */
#ifndef INJECT_MODULES_H
#define INJECT_MODULES_H

#include "inject/cfi.h"
#include "inject/state.h"

#include <link.h>

/* Tell this of a module that was not seen before, maybe from a signal handler; and when some have
 * gone.
 */
void modules_watch(void (*on_module)(const struct link_map *map), void (*on_unloaded)(void));

void modules_seen(struct thread *t, const struct cfi_module *module);

/* Before a stack is told: its modules, should another thread have told them in a tick that may
 * still last, for its buffer may be read after ours.
 */
void modules_again(struct thread *t, const uint64_t *frames, size_t count);

/* A module may be gone (dlclose): all that is cached of code is void, in every thread. */
void modules_unloaded(struct thread *t);

#endif
