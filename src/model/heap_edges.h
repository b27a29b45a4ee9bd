/* heap_edges - the moments of a recording that a page shows: edges, with cells of events between
 * them.
 *
 * Of each of equal parts of the time the lowest moment is quiet, and so are the begins and ends of
 * regions, marks, steps and the end: a window begins and ends there. Between each two of these
 * stands the highest moment: so the peak of every window is an edge. The own peaks of large
 * processes are edges, too. An edge is a place between two events of heap_order, which has a time.
 *
 * A stretch of the time may be told finer: it has as many parts again, and all edges of before are
 * still there, so that what is between two of them does not change.
 */
#ifndef MODEL_HEAP_EDGES_H
#define MODEL_HEAP_EDGES_H

#include "model/heap_order.h"
#include "model/heap_segments.h"

#define HEAP_EDGES_PARTS 120
#define HEAP_EDGES_BINS 1200
#define HEAP_EDGES_COARSE 1024
#define HEAP_EDGES_MOST 2048

struct heap_edges { /* zeroed: not started */
    struct heap_order order;
    uint64_t last_ns; /* when the recording ended */
    bool finer;       /* a stretch of it is told finer; else that is all of it */
    uint64_t from_ns, to_ns;
    struct heap_edge list[HEAP_EDGES_MOST];
    int count;
    struct heap_edge coarse[HEAP_EDGES_COARSE]; /* what `list` is without a finer stretch */
    int coarse_count;
    uint64_t high[HEAP_EDGES_BINS], low[HEAP_EDGES_BINS]; /* of equal bins of the stretch */
    uint64_t high_ns[HEAP_EDGES_BINS];                    /* when it was first so high */
    bool any;                                             /* there were events */
    struct heap_edges_pass *pass;
};

/* Take the first pass over a trace, after the heap did. A stretch that is told finer has as many
 * parts as the whole; to_ns 0: none.
 */
void heap_edges_start(struct heap_edges *g, struct heap *h, uint64_t last_ns, uint64_t from_ns,
                      uint64_t to_ns);
void heap_edges_record(void *edges, const struct trace_event *ev);
void heap_edges_end(struct heap_edges *g);

/* Half as many parts: fewer edges, and for each cell of before the one that it is in now. */
void heap_edges_halve(struct heap_edges *g, uint16_t *cells);

/* The cell of a time: of the first edge that is not before it. */
int heap_edges_cell(const struct heap_edges *g, uint64_t time_ns);
int heap_edges_peak(const struct heap_edges *g); /* the edge with the most; -1: there is none */

/* By edges of the finer grid, how many of the coarse one are before their cells' events. */
void heap_edges_coarse(const struct heap_edges *g, uint16_t *cells);
/* The cell of a time in the coarse grid. */
int heap_edges_coarse_cell(const struct heap_edges *g, uint64_t time_ns);

#endif
