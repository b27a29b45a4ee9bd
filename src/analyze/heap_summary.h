/* heap_summary - what a summary says of the allocations of a recording that has them. */
#ifndef ANALYZE_HEAP_SUMMARY_H
#define ANALYZE_HEAP_SUMMARY_H

#include "analyze/heap.h"

/* Lines for the table of facts. */
void heap_summary_facts(struct answer *a, struct table *facts, const struct heap *h);

/* The kernel's [heap], when it was last looked into. `live` is all that was alive there and elsewhere,
 * so what is free in it is more than held - live.
 */
struct heap_summary_held {
    bool known;
    uint64_t held, live;
};

/* The tables "peak_sites", the largest sites at the peak, and "odd", what deserves a look. It
 * may read the trace again.
 */
void heap_summary_tables(struct answer *a, struct heap *h, struct trace *t,
                         const struct heap_summary_held *held);

#endif
