/* mstx_memory - MSTX's functions for memory: pools, as those of NVTX (pool_memory.h). Each gets the
 * arguments of a call and what the library returned, and says what the program gets: a handle of
 * ours where nobody else gave one.
 */
#ifndef INJECT_MSTX_MEMORY_H
#define INJECT_MSTX_MEMORY_H

#include "inject/state.h"

uintptr_t mstx_domain(const uintptr_t *a, uintptr_t result, struct caller c);
uintptr_t mstx_heap(const uintptr_t *a, uintptr_t result, struct caller c);
uintptr_t mstx_heap_gone(const uintptr_t *a, uintptr_t result, struct caller c);
uintptr_t mstx_regions(const uintptr_t *a, uintptr_t result, struct caller c);
uintptr_t mstx_regions_gone(const uintptr_t *a, uintptr_t result, struct caller c);

#endif
