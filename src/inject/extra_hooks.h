/* extra_hooks - what takes the place of others in the first namespace of the loader only where it
 * is wanted: the program's copies, the operators of its allocator, functions of devices, calls that
 * write into guarded memory; and with any of them dlsym, for what is loaded later. See got.h.
 */
#ifndef INJECT_EXTRA_HOOKS_H
#define INJECT_EXTRA_HOOKS_H

#include "inject/space.h"

/* What is wanted now, into `s`, whose hooks are one list for all callers; `look_up` is our dlsym.
 * False: nothing is.
 */
bool extra_hooks_find(struct space *s, uintptr_t look_up);

#endif
