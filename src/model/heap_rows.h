/* heap_rows - the stacks of a heap as rows of a table: one for all that read the same, or one per
 * site; the largest first, and what is below the limit as one last row, so that every column adds
 * up to its total.
 */
#ifndef MODEL_HEAP_ROWS_H
#define MODEL_HEAP_ROWS_H

#include "model/heap.h"

struct heap_row {
    struct heap_stack_sum sum;
    struct table_frame site;
    uint64_t stack; /* the one with the most; 0: this is the rest */
    uint64_t stacks;
    uint32_t first;         /* 1 + the place in heap.stacks of one of its stacks, `next` leads on */
    int rank;               /* for the caller: the larger come first */
    uint64_t weight;        /* what decides its place; 0: not shown */
    uint64_t best;          /* weight of `stack` */
    struct heap_life *life; /* NULL: nobody asks; see heap_rows_sites_lived */
};

struct heap_rows {
    struct heap_row *rows;
    size_t count; /* without the rest */
    size_t room;  /* while they are found */
    struct heap_row rest;
    uint64_t left; /* rows in the rest; 0: there is none */
};

typedef uint64_t heap_weight(const struct heap_stack_sum *s);
/* Set the rank of a row, and what else is known of it by its stacks. */
typedef void heap_rank(struct heap_row *row, void *context);

/* Those with a weight, in the arena: as many as the options say, else as `standard`. */
void heap_rows_stacks(struct heap_rows *r, struct heap *h, heap_weight *weight, uint64_t standard);
void heap_rows_ranked(struct heap_rows *r, struct heap *h, heap_weight *weight, uint64_t standard,
                      heap_rank *rank, void *context);
void heap_rows_sites(struct heap_rows *r, struct heap *h, heap_weight *weight, uint64_t standard);
/* The same, and its stacks are linked as those of heap_rows_ranked: other rows lose theirs. */
void heap_rows_sites_linked(struct heap_rows *r, struct heap *h, heap_weight *weight,
                            uint64_t standard);
/* The same, and the life of each row is known; there are far fewer sites than stacks. */
void heap_rows_sites_lived(struct heap_rows *r, struct heap *h, heap_weight *weight,
                           uint64_t standard);

/* Row i, where i == count is the rest; NULL: the end. */
const struct heap_row *heap_rows_at(const struct heap_rows *r, size_t i);

#endif
