/* pool_memory - what programs say of their own pools: memory that a pool has to hand out (a heap)
 * and has handed out (regions of it), by the extensions of NVTX and MSTX, which are alike. Both are
 * spaces of their own, "reserved:NAME" and "pool:NAME", as they are within other memory that is
 * counted already.
 */
#ifndef INJECT_POOL_MEMORY_H
#define INJECT_POOL_MEMORY_H

#include "inject/state.h"

enum pool_source { POOL_NVTX, POOL_MSTX, POOL_SOURCES };

#define POOL_NO_DEVICE UINT32_MAX

/* A heap came to be, of a pool that is called so; NULL: it has no name. A pool with a device is
 * another on each. */
void pool_heap(enum pool_source s, uint64_t heap, const char *name, uint32_t device,
               uint64_t address, uint64_t bytes, struct caller c);
/* A heap that is no pool: its regions are not told. */
void pool_heap_other(enum pool_source s, uint64_t heap);
/* All its regions are free; `gone`: it is, too. */
void pool_heap_reset(enum pool_source s, uint64_t heap, bool gone, struct caller c);

/* So many bytes at an address are handed out; heap 0: of none that was told. One that is known gets
 * another size. */
void pool_region(enum pool_source s, uint64_t heap, const char *name, uint64_t address,
                 uint64_t bytes, struct caller c);
void pool_region_resized(enum pool_source s, uint64_t address, uint64_t bytes, struct caller c);
void pool_region_gone(enum pool_source s, uint64_t address, struct caller c);

#endif
