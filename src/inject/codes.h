/* codes - Python's functions by number, and where in them a frame stands. */
#ifndef INJECT_CODES_H
#define INJECT_CODES_H

#include "inject/state.h"
#include "python/pyframes.h"

/* A frame as it stands in a STACK: RING_FRAME_PYTHON with the number and the line; 0: a helper of
 * the interpreter that nobody wants to see. A code that this thread has not met is told to the
 * collector. False: it could not be read.
 */
bool codes_frame(struct thread *t, const struct py_memory *m, const struct py_frame *f,
                 uint64_t *frame);

#endif
