/* stacks - numbers for stacks, one per process and set of frames; a new one is told to the collector. */
#ifndef INJECT_STACKS_H
#define INJECT_STACKS_H

#include "inject/state.h"

/* The number of these frames, innermost first; 0 when there are too many stacks to number. */
uint32_t stacks_number(struct thread *t, const uint64_t *frames, size_t count);

/* A number for native frames that are only a part of stacks: the collector is not told. */
uint32_t stacks_part(struct thread *t, const uint64_t *frames, size_t count);

#endif
