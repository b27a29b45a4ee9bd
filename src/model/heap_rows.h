/* heap_rows - the stacks of a heap as rows of a table: one for all that read the same, or one per
 * site; the largest first, and what is below the limit as one last row, so that every column adds
 * up to its total.
 */
#ifndef ANALYZE_HEAP_ROWS_H
#define ANALYZE_HEAP_ROWS_H

#include "analyze/heap.h"

struct heap_row {
    struct heap_stack sum;
    struct table_frame site;
    uint64_t stack; /* the one with the most; 0: this is the rest */
    uint64_t stacks;
    uint32_t first;  /* 1 + the place in heap.stacks of one of its stacks, `next` leads on */
    int rank;        /* for the caller: the larger come first */
    uint64_t weight; /* what decides its place; 0: not shown */
    uint64_t best;   /* weight of `stack` */
};

struct heap_rows {
    struct heap_row *rows;
    size_t count; /* without the rest */
    struct heap_row rest;
    uint64_t left; /* rows in the rest; 0: there is none */
};

typedef uint64_t heap_weight(const struct heap_stack *s);
/* Set the rank of a row, and what else is known of it by its stacks. */
typedef void heap_rank(struct heap_row *row, void *context);

/* Those with a weight, in the arena. `most` 0: as many as the options say, else as `standard`. */
void heap_rows_stacks(struct heap_rows *r, struct heap *h, heap_weight *weight, uint64_t standard);
void heap_rows_ranked(struct heap_rows *r, struct heap *h, heap_weight *weight, uint64_t standard,
                      heap_rank *rank, void *context);
void heap_rows_sites(struct heap_rows *r, struct heap *h, heap_weight *weight, uint64_t standard);

/* Row i, where i == count is the rest; NULL: the end. */
const struct heap_row *heap_rows_at(const struct heap_rows *r, size_t i);

/* Cells. An amount of nothing is 0; the error is absent where it is exact. */
void heap_cell_bytes(struct table_cell *c, const struct heap_amount *a);
void heap_cell_blocks(struct table_cell *c, const struct heap_amount *a);
void heap_cell_error(struct table_cell *c, const struct heap_amount *a);
void heap_cell_percent(struct table_cell *c, double part, double whole); /* of 0: absent */
/* The site's text; of the rest: how many were left out. */
void heap_cell_site(struct table_cell *c, const struct heap *h, const struct heap_rows *r,
                    const struct heap_row *row);
void heap_cell_stack(struct table_cell *c, const struct heap *h, const struct heap_row *row);

/* "exact", or "sampled, ±3.1 %". */
const char *heap_basis(const struct heap *h, const struct heap_amount *a);
/* The same for the peak. The largest of many estimates is too large where they are poor. */
const char *heap_peak_basis(const struct heap *h);

/* Health; and, where the trace has no allocations, a note that says so. False: there are none. */
bool heap_begin(struct heap *h, struct answer *a, struct table *t);

#endif
