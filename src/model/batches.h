/* batches - the one decoder of BATCH records: each is decoded once, in portions, for all who want
 * it.
 */
#ifndef MODEL_BATCHES_H
#define MODEL_BATCHES_H

#include "trace/batch.h"
#include "trace/read.h"

struct batches_run { /* some events of one record, thread and time */
    uint64_t time_ns, thread;
    const struct batch_item *items;
    size_t count; /* not 0 */
};

/* In their order; a thread and time may be handed out in several parts. */
typedef void batches_take(void *context, const struct batches_run *run);

/* Hand out all events of a BATCH. 1; 0: some, the rest is malformed; -1: none of it can be read. */
int batches_each(const struct trace_event *ev, batches_take *take, void *context);

#endif
