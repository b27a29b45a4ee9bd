/* maps - what other parts know of memory that the program maps itself. */
#ifndef INJECT_MAPS_H
#define INJECT_MAPS_H

#include "inject/state.h"

#include <stddef.h>
#include <stdint.h>

/* What this function has mapped so far is an allocator's, whose blocks are told one by one. */
void maps_are_arenas(uintptr_t function);

/* Shared memory came that is no file, and goes. `object`: the same in every process. */
void maps_shared(const void *at, size_t length, uint64_t object, struct caller c);
void maps_gone(const void *at, size_t length, uintptr_t frame);

#endif
