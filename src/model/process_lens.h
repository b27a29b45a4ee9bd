/* process_lens - one process of a trace is looked at, such as one rank of several: what others
 * allocate, compute and say is not seen, so every model and every question is about it alone and
 * knows nothing of that. What was measured of processes from outside stays.
 */
#ifndef MODEL_PROCESS_LENS_H
#define MODEL_PROCESS_LENS_H

#include "base/arena.h"
#include "base/intmap.h"
#include "trace/read.h"

#include <stdbool.h>

struct process_lens {                 /* zeroed: of nobody */
    struct intmap processes, threads; /* numbers in the trace: those that are looked at */
    size_t recorded; /* of these processes have threads, so something is known of them */
};

/* The processes of this pid: what it became by exec as well. It takes a pass over the trace, which
 * stands at its beginning afterwards.
 */
void process_lens_read(struct process_lens *l, struct trace *t, uint64_t pid);
/* Those of one rank of a distributed program: what it has forked as well. True: any process of it
 * has a rank. */
bool process_lens_read_rank(struct process_lens *l, struct trace *t, struct arena *a,
                            uint64_t rank);
void process_lens_free(struct process_lens *l);

/* Is this record seen? NULL: every one is. */
bool process_show(const struct process_lens *l, const struct trace_event *ev);

#endif
