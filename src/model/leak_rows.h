/* leak_rows - what was alive when its process ended, by stack, and whether it was still growing
 * (see leak_trend.h): for `leaks`, and for the line that the summary has of it.
 */
#ifndef MODEL_LEAK_ROWS_H
#define MODEL_LEAK_ROWS_H

#include "model/known_leaks.h"
#include "model/leak_trend.h"

struct leak_rows {
    struct heap_growth growth;
    struct heap_amount alive; /* with what is known */
    struct known_leaks known; /* left out of the rows, unless the options want all */
    bool reach_known;         /* heap_reach_known */
    bool known_before;        /* what lives then was known when it was wanted */
    struct heap_rows rows;    /* growing ones first */
    uint64_t growing_bytes, growing_stacks;
    uint64_t unclear_bytes; /* of stacks that grew of late, but perhaps by chance */
};

/* Of a heap that was read, at the moment that its options ask for: want it, have the recording read
 * again, read it. `suppress` is the same both times and may be NULL; `most` is how many rows there
 * are at most where nobody says. Afterwards `at` of the heap's stacks is that moment.
 */
void leak_rows_want(struct leak_rows *l, struct recorded *r, struct suppress *suppress);
void leak_rows_read(struct leak_rows *l, struct suppress *suppress, uint64_t most);
/* False: the row holds nothing, or is the rest. */
bool leak_rows_judge(const struct leak_rows *l, const struct heap_row *row, struct leak_verdict *v);
/* The share of its blocks that did not live any more. */
double leak_rows_freed_percent(const struct heap_stack_sum *s);
void leak_rows_free(struct leak_rows *l);

#endif
