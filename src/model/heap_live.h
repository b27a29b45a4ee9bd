/* heap_live - sampled blocks that are alive, by process and address. */
#ifndef MODEL_HEAP_LIVE_H
#define MODEL_HEAP_LIVE_H

#include "model/heap_amount.h"

#include <stddef.h>

struct heap_block {
    uint64_t address;
    uint32_t process; /* 1 + its place in heap.processes; 0: this slot is free */
    uint32_t entry;   /* place of its heap_sampled */
    uint32_t stack;   /* the replay's own */
    uint8_t lots;     /* see heap_twin.c */
    uint16_t cell;    /* of its birth: see heap_entries.c */
    uint64_t thread, born_ns;
    struct heap_amount amount;
};

struct heap_live { /* zeroed: empty */
    struct heap_block *slots;
    size_t mask, used;
    uint64_t most; /* of blocks; 0: as many as this reader takes of any trace */
};

/* NULL where it is not alive. Valid until the next call. */
struct heap_block *heap_live_find(const struct heap_live *l, uint32_t process, uint64_t address);
/* It must not be there yet; NULL: too many. */
struct heap_block *heap_live_add(struct heap_live *l, uint32_t process, uint64_t address);
void heap_live_remove(struct heap_live *l, struct heap_block *block);
/* All of one process. */
void heap_live_forget(struct heap_live *l, uint32_t process);
void heap_live_free(struct heap_live *l);

#endif
