/* stack_hash - the names of a stack as a number, which is the same in another trace: two hashes of
 * 64 bits. */
#ifndef QUESTIONS_STACK_HASH_H
#define QUESTIONS_STACK_HASH_H

#include "model/frames.h"

struct stack_hash {
    uint64_t one, two;
};

/* Of every stack, 0 .. stack_count; to be freed. addresses: frames without a name have their
 * address. */
struct stack_hash *stack_hashes(const struct frames *f, bool addresses);

#endif
