/* put - a record of the trace, after the stacks that it may refer to. */
#ifndef COLLECT_PUT_H
#define COLLECT_PUT_H

#include "collect/absorb_state.h"
#include "collect/stackmap.h"
#include "trace/store.h"

static inline void put_record(struct absorb *a, enum trace_kind kind, uint64_t time_ns,
                              const void *fields, size_t count)
{
    stackmap_flush(&a->stackmap, a->store);
    if (a->store)
        trace_store_put(a->store, kind, time_ns, fields, count, NULL, 0);
}

#endif
