/* mixed - the Python frames of a thread, in the places where its native stack runs them. */
#ifndef INJECT_MIXED_H
#define INJECT_MIXED_H

#include "inject/state.h"
#include "python/pymemory.h"

/* What a walk of a thread's Python frames found, without their lines. */
struct mixed_sight {
    uint64_t hash; /* of all frames: which functions, where in them */
    unsigned int count;
    bool bad; /* it broke off: only the frames up to there are known */
};

/* By plain loads, or through t->glimpse when `m` reads so. */
struct mixed_sight mixed_look(struct thread *t, const struct py_memory *m, uintptr_t tstate);

/* Put Python frames into the native ones, `count` of t->frames. The frames are left in t->mixed; how
 * many there are. Codes that the collector does not know yet are told to it.
 */
size_t mixed_merge(struct thread *t, const struct py_memory *m, uintptr_t tstate, size_t count);

#endif
