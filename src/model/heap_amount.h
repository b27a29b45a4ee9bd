/* heap_amount - how much memory in how many blocks: counted, or estimated from samples.
 *
 * A million stacks may be counted, and few of them sampled: what both have is a heap_count, and how
 * far it may be off is kept elsewhere.
 */
#ifndef MODEL_HEAP_AMOUNT_H
#define MODEL_HEAP_AMOUNT_H

#include <stdint.h>

struct heap_amount {
    uint64_t bytes;
    uint64_t milliblocks; /* thousandths of blocks; of exact ones 1000 each */
    double variance;      /* of bytes; 0: exact */
    double of_blocks;     /* variance of blocks; 0: exact */
};

struct heap_count {
    uint64_t bytes, milliblocks;
};

struct heap_spread { /* of a count; all 0: exact */
    double variance, of_blocks;
};

#endif
