/* probing - what the probes of the system put, as records of the trace. */
#ifndef WATCH_PROBING_H
#define WATCH_PROBING_H

#include "platform/probe.h"
#include "trace/store.h"

struct probing {
    const struct probe *const *probes;
    struct trace_store *store;
    void **states;
    uint64_t time_ns; /* of this tick */
    enum trace_subject subject;
    uint64_t id; /* whose values these are: */
    struct trace_pair pairs[TRACE_METRIC_COUNT];
    size_t count;
};

void probing_begin(struct probing *p, const struct probe *const *list, struct trace_store *store);

/* A process of this tick, with the values that are known already: one SAMPLE has them all. */
void probing_process(struct probing *p, uint64_t time_ns, const struct proc *proc, uint64_t number,
                     const struct trace_pair *pairs, size_t count);
/* All else. */
void probing_tick(struct probing *p, uint64_t time_ns);

/* One that has not begun may end. */
void probing_end(struct probing *p);

#endif
