/* operators - new and delete of an allocator that brings its own.
 *
 * Those of a C++ runtime call malloc, where they are seen. An allocator's own do not, and are bound
 * to by name: so the objects that use them are changed, as in got.h.
 */
#ifndef INJECT_OPERATORS_H
#define INJECT_OPERATORS_H

#include "inject/got_hook.h"

#define OPERATORS 20
extern const struct got_hook operators_hooks[OPERATORS] __attribute__((visibility("hidden")));

/* Find those of the allocator that `real` leads to; false: it has none of its own. */
bool operators_start(void);

/* The real one; 0: there is none. */
uintptr_t operators_real(size_t i);

#endif
