/* stacks - numbers for stacks, one per process and set of frames; a new one is told to the
 * collector. */
#ifndef INJECT_STACKS_H
#define INJECT_STACKS_H

#include "inject/state.h"

/* The number of these frames, innermost first; 0 when there are too many stacks to number. *known:
 * it was met before.
 */
uint32_t stacks_number(struct thread *t, const uint64_t *frames, size_t count, bool *known);

/* The same for one that has the outermost `shared` frames of the thread's trail, and `more` of
 * t->mixed after them, the outermost first.
 */
uint32_t stacks_grown(struct thread *t, size_t shared, size_t more, bool *known);

#endif
