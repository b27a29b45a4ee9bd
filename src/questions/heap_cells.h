/* heap_cells - amounts, sites and stacks of a heap into the cells of a table, and how well they are
 * known. */
#ifndef QUESTIONS_HEAP_CELLS_H
#define QUESTIONS_HEAP_CELLS_H

#include "model/heap_rows.h"
#include "questions/table.h"

/* An amount of nothing is 0; the error is absent where it is exact. */
void heap_cell_bytes(struct table_cell *c, const struct heap_amount *a);
void heap_cell_blocks(struct table_cell *c, const struct heap_amount *a);
void heap_cell_error(struct table_cell *c, const struct heap_amount *a);
/* The same of all there is: see heap_counts.h. */
void heap_cell_whole_error(struct table_cell *c, const struct heap *h, const struct heap_amount *a);
/* See heap_counts.h; absent where it is exact. */
void heap_cell_blocks_error(struct table_cell *c, const struct heap *h, const struct heap_amount *a,
                            uint64_t least);
void heap_cell_percent(struct table_cell *c, double part, double whole); /* of 0: absent */
/* What of it is mapped, shared memory included; absent where nothing is. */
void heap_cell_mapped(struct table_cell *c, const struct heap *h, const struct heap_row *row);
/* The parts of a moment by kinds of memory, as facts that add up to it; none where all of it is
 * heap. */
void heap_cells_memory(struct answer *a, struct table *facts, const struct heap *h, const char *of,
                       const struct heap_amount parts[TRACE_MEMORY_COUNTED]);
/* The site's text; of the rest: how many were left out. */
void heap_cell_site(struct table_cell *c, const struct heap *h, const struct heap_rows *r,
                    const struct heap_row *row);
void heap_cell_stack(struct table_cell *c, const struct heap *h, const struct heap_row *row);

/* A basis, with what numbers of this trace may lack: "exact but for 12 lost events". */
const char *heap_lacking(const struct heap *h, const char *basis);
/* "exact", "sampled, ±3.1 %" or, where no sample was among it, less than what. */
const char *heap_basis(const struct heap *h, const struct heap_amount *a);
/* The same of a part, briefly: its error is that of its own column. */
const char *heap_basis_brief(const struct heap *h, const struct heap_amount *a);
/* The same for the peak. The largest of many estimates is too large where they are poor. */
const char *heap_peak_basis(const struct heap *h);

/* Health; and, where the trace has no allocations, a note that says so. False: there are none. */
bool heap_begin(struct heap *h, struct answer *a, struct table *t);

#endif
