/* copies - memory that the program copies, if the collector wants to know: a sample of the calls of
 * memcpy and memmove. Nothing is exported for it: got.c writes these functions' addresses into the
 * tables of the program's objects, so that nothing is changed where nobody asks.
 *
 * Every byte is equally likely, as in sample.h. What the compiler has copied by itself, and libc's
 * own copies, do not pass through here.
 */
#ifndef INJECT_COPIES_H
#define INJECT_COPIES_H

#include "inject/got_hook.h"

#define COPIES_HOOKS 6
extern const struct got_hook copies_hooks[COPIES_HOOKS] __attribute__((visibility("hidden")));

/* Are they wanted? Then the real functions are known from here on. */
bool copies_start(void);
/* The real function of a hook: what a table holds for it. */
uintptr_t copies_real(size_t hook);

#endif
