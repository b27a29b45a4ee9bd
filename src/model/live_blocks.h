/* live_blocks - the blocks that lived at one moment, one by one, as far as each was recorded: the
 * largest of them, and those that were born last.
 */
#ifndef MODEL_LIVE_BLOCKS_H
#define MODEL_LIVE_BLOCKS_H

#include "model/heap_replay.h"

struct live_block {
    uint64_t bytes, born_ns, born_no; /* born_no: of the event in its process */
    uint32_t stack, place; /* place: 1 + that of its process in heap.processes; 0: it died */
    uint32_t next;         /* 1 + place in the list: of those that cannot be told apart */
};

struct live_blocks { /* zeroed: nothing */
    struct heap *heap;
    uint64_t time_ns;
    struct live_block *list; /* with those that died, whose places are used again */
    size_t count, room;
    uint32_t free;        /* 1 + the first place to be used again */
    struct intmap places; /* what cannot be told apart -> 1 + place of the one that was born last */
    uint64_t left_out;    /* above the limit of this reader */
    uint64_t last_key;    /* of the one that died last, which may be taken back, */
    struct live_block last; /* and what it was */
};

/* The heap takes its events again, by h->replay, up to this time. */
void live_blocks_want(struct live_blocks *l, struct heap *h, uint64_t time_ns);

typedef bool live_blocks_before(const struct live_block *a, const struct live_block *b);
/* The first `most` of them by an order, in the arena; how many there are. */
size_t live_blocks_first(const struct live_blocks *l, live_blocks_before *before, size_t most,
                         struct arena *a, const struct live_block ***out);
live_blocks_before live_blocks_larger, live_blocks_later;

void live_blocks_free(struct live_blocks *l);

#endif
