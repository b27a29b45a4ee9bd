/* mixed - the Python frames of a thread, in the places where its native stack runs them. */
#ifndef INJECT_MIXED_H
#define INJECT_MIXED_H

#include "inject/state.h"
#include "python/pymemory.h"

/* Put the Python frames of the last look into the native ones, `count` of t->frames. The frames are
 * left in t->mixed; how many there are. Codes that the collector does not know yet are told to it.
 */
size_t mixed_merge(struct thread *t, const struct py_memory *m, uintptr_t tstate, size_t count);

#endif
