/* leak_rows - what was alive when its process ended, by stack, and whether it was still growing: for
 * `leaks`, and for the line that the summary has of it.
 *
 * Judged are the last two thirds of its process's time. A stack is
 *   growing    it held more and more, up to the end, and chance does so in at most one of a hundred
 *              series without a trend
 *   unclear    it held more at the end than a sixth of the time before, but that may be chance
 *   grew once  what it held it kept, but no more came: a cache that was filled, say
 *   steady     most of its blocks were freed again, and others took their place
 */
#ifndef ANALYZE_LEAK_ROWS_H
#define ANALYZE_LEAK_ROWS_H

#include "analyze/heap_growth.h"

enum leak_trend { LEAK_STEADY, LEAK_GREW_ONCE, LEAK_UNCLEAR, LEAK_GROWING };

struct leak_verdict {
    enum leak_trend trend;
    double chance, slope; /* slope: bytes per second */
    uint64_t quarter;     /* bytes that it held a quarter of the time before the end */
};

struct leak_rows {
    struct heap_growth growth;
    struct heap_amount alive;
    struct heap_rows rows; /* growing ones first */
    uint64_t growing_bytes, growing_stacks;
};

/* Of a heap that was read, at the moment that its options ask for; `suppress` may be NULL, `most` is
 * how many rows there are at most where nobody says. Afterwards `at` of its stacks is that moment.
 */
void leak_rows_read(struct leak_rows *l, struct heap *h, struct trace *t, struct suppress *suppress,
                    uint64_t most);
/* False: the row holds nothing, or is the rest. */
bool leak_rows_judge(const struct leak_rows *l, const struct heap_row *row, struct leak_verdict *v);
/* The share of its blocks that did not live any more. */
double leak_rows_freed_percent(const struct heap_stack *s);
void leak_rows_free(struct leak_rows *l);

#endif
