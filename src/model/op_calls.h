/* op_calls - the operators of a recording as they began and ended (OP, OP_END), with what their
 * threads allocated and freed meanwhile: blocks that were recorded each, and no samples.
 *
 * What an operator does within another one is of both, but of each name once; what is its own it
 * did while it was the innermost.
 */
#ifndef MODEL_OP_CALLS_H
#define MODEL_OP_CALLS_H

#include "base/intmap.h"
#include "model/heap.h"

struct op_calls_row { /* of one name */
    uint64_t name;    /* a string */
    uint64_t calls, time_ns;
    uint64_t own;              /* bytes that it allocated while it was the innermost */
    uint64_t allocated, freed; /* by itself and all within */
    uint64_t above;            /* the most that one call had more than when it began */
};

struct op_calls { /* zeroed: empty */
    struct heap *heap;
    uint64_t from_ns, to_ns; /* calls that begin between these count */
    struct op_calls_row *rows;
    size_t count, room;
    struct intmap places; /* string -> 1 + place of its row */
    struct op_calls_thread *threads;
    size_t thread_count, thread_room;
    struct intmap of_thread; /* thread -> 1 + place */
    struct intmap blocks;    /* process and address -> bytes */
    uint64_t told;           /* operators, in the whole recording */
    uint64_t unended;        /* that have no end */
    uint64_t left_out;       /* too deep, or of too many names */
};

void op_calls_start(struct op_calls *c, struct heap *h, uint64_t from_ns, uint64_t to_ns);
/* Every record of the second pass. */
void op_calls_take(void *calls, const struct trace_event *ev);
/* All was taken: what has not ended is counted. */
void op_calls_end(struct op_calls *c);
void op_calls_free(struct op_calls *c);

#endif
