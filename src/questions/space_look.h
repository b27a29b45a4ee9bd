/* space_look - one space of a trace as a question about it would see it. Each look takes passes
 * over the trace of its own. */
#ifndef QUESTIONS_SPACE_LOOK_H
#define QUESTIONS_SPACE_LOOK_H

#include "model/heap_edges.h"
#include "model/recorded.h"

struct space_seen {
    bool any; /* something was allocated in it: then there are these */
    uint64_t peak, peak_ns, live, blocks, allocated;
};

/* `curve`: zeroed, and its bins are filled; NULL: that is not wanted. */
struct space_seen space_look(struct trace *t, const struct selection *o, uint64_t space,
                             struct heap_edges *curve);

/* The same of what has been read, with its peak. */
struct space_seen space_seen_of(const struct heap *h);

/* What it is, in words. */
const char *space_kind(enum trace_space_kind kind);

#endif
