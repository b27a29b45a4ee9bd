/* heap_edges_pass - what heap_edges.c and heap_edges_time.c share while a pass is taken. */
#ifndef MODEL_HEAP_EDGES_PASS_H
#define MODEL_HEAP_EDGES_PASS_H

#include "model/heap_edges.h"

struct heap_edges_own { /* of one process */
    uint64_t live, most, after, time_ns, total;
    bool ended;       /* what its frees are of is known by `blocks` since */
    uint32_t *blocks; /* by info: alive */
    size_t room;
};

struct heap_edges_pass {
    struct heap_segments coarse,
        fine; /* fine: where a stretch is told finer; it ends at each part, too */
    int part, fine_part, bin;
    uint64_t total, after, now_ns;
    struct heap_edges_own *own; /* by place */
    size_t own_room;
    int named, regions, fine_named;
    uint64_t step_ns, fine_step_ns; /* when the last step was an edge */
    bool binned;                    /* this bin has a value */
    bool moved;
    uint64_t next_ns; /* up to there neither part nor bin end */
};

/* heap_edges_time.c: the level now, as an edge at a time, */
struct heap_edge heap_edges_here(const struct heap_edges_pass *s, uint64_t time_ns);
/* the bin that time is in has a value, */
void heap_edges_fill_bin(struct heap_edges *g);
/* and time goes on: parts and bins end. */
void heap_edges_move(struct heap_edges *g, uint64_t time_ns);

#endif
