/* meld - native and Python frames in one stack, as far as they are not those of the thread's last
 * one.
 *
 * Where each call of the interpreter's function runs one call of Python, which is the rule, it does
 * not matter from which end they are put together: so it is done from outside, where most is as it
 * was.
 */
#ifndef INJECT_MELD_H
#define INJECT_MELD_H

#include "inject/state.h"
#include "python/pymemory.h"

/* Put `count` of t->frames and those of the last look together: how many of the trail's frames they
 * begin with; after them come *more of t->mixed, the outermost first. False: it is not so simple,
 * see mixed.
 */
bool meld_frames(struct thread *t, const struct py_memory *m, size_t count, size_t *shared,
                 size_t *more);

/* The trail is what was put together, or not. */
void meld_kept(struct thread *t, bool kept);

#endif
