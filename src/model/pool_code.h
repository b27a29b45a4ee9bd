/* pool_code - what stacks say of pools of threads: whether two of them are in one parallel region,
 * and how a line of Python came to be where it is.
 */
#ifndef MODEL_POOL_CODE_H
#define MODEL_POOL_CODE_H

#include "model/blame.h"

enum pool_flags {
    POOL_LINE = 1,     /* a line of Python of the program is in it */
    POOL_IMPORTS = 2,  /* which imports something, in the midst of which this is */
    POOL_OWN = 4,      /* its innermost Python is of the program, */
    POOL_LIBRARY = 8,  /* or of the standard library */
    POOL_IDLE = 16,    /* it waits for something to do, in the loop of a pool */
    POOL_STARTS = 64,  /* it is about to start a process */
    POOL_MAKES = 128,  /* it makes a pool, which is given its work later */
    POOL_BEGINS = 256, /* it waits for a thread to begin, not for its work */
    POOL_ALONE =
        512 /* what starts a process here does nothing else: no work is given to it later */
};

struct pool_code {
    const struct blame *blame;
    uint16_t *flags;     /* by stack; enum pool_flags */
    struct intmap ranks; /* of pairs of stacks */
};

void pool_code_start(struct pool_code *c, const struct blame *b);
void pool_code_free(struct pool_code *c);

unsigned int pool_code_flags(const struct pool_code *c, uint32_t stack);

/* How well the native code that a line of Python has called fits to what a worker does. 0: not at
 * all; 1: both are in one library; more: in one function, the more the further out it is in the
 * worker's stack, as that of a parallel region (X._omp_fn.0) is.
 */
unsigned int pool_code_rank(struct pool_code *c, uint32_t caller, uint32_t worker);

/* The library that a stack without Python is in, as "libopenblas"; NULL: none that has a name. */
const char *pool_code_library(const struct pool_code *c, struct arena *a, uint32_t stack);

#endif
