/* batches - the one decoder of BATCH records: each is decoded once, in portions, for all who want
 * it.
 */
#ifndef MODEL_BATCHES_H
#define MODEL_BATCHES_H

#include "trace/batch.h"
#include "trace/read.h"

/* Some of the events of one record, in their order. */
typedef void batches_take(void *context, const struct batch_event *events, size_t count);

/* Hand out all events of a BATCH. 1; 0: some, the rest is malformed; -1: none of it can be read. */
int batches_each(const struct trace_event *ev, batches_take *take, void *context);

#endif
