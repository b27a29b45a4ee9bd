/* heap_summary - what a summary says of the allocations of a recording that has them. */
#ifndef ANALYZE_HEAP_SUMMARY_H
#define ANALYZE_HEAP_SUMMARY_H

#include "analyze/heap.h"

/* Lines for the table of facts. */
void heap_summary_facts(struct answer *a, struct table *facts, const struct heap *h);

/* The tables "peak_sites", the largest sites at the peak, and "odd", what deserves a look. */
void heap_summary_tables(struct answer *a, struct heap *h);

#endif
