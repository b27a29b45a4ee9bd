/* heap_live - sampled blocks that are alive, by process and address. */
#ifndef ANALYZE_HEAP_LIVE_H
#define ANALYZE_HEAP_LIVE_H

#include "analyze/heap.h"

struct heap_block {
    uint64_t address;
    uint32_t process; /* 1 + its place in heap.processes; 0: this slot is free */
    uint32_t entry;   /* place of its heap_sampled */
    uint64_t thread, born_ns;
    struct heap_amount amount;
};

struct heap_live { /* zeroed: empty */
    struct heap_block *slots;
    size_t mask, used;
};

/* NULL where it is not alive. Valid until the next call. */
struct heap_block *heap_live_find(const struct heap_live *l, uint32_t process, uint64_t address);
/* It must not be there yet; NULL: too many. */
struct heap_block *heap_live_add(struct heap_live *l, uint32_t process, uint64_t address);
void heap_live_remove(struct heap_live *l, struct heap_block *block);
void heap_live_free(struct heap_live *l);

#endif
