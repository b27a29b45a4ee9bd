/* batches - see batches.h. A portion fits into the processor's nearest cache. */
#include "model/batches.h"

#define PORTION 512

int batches_each(const struct trace_event *ev, batches_take *take, void *context)
{
    struct batch_item items[PORTION];
    struct batches_run run = {.items = items};
    struct batch_reader r;

    if (batch_open(&r, ev->tail, ev->tail_bytes, ev->time_ns, ev->batch.span_ns) < 0)
        return -1;
    while ((run.count = batch_take(&r, items, PORTION)) > 0) {
        run.time_ns = r.time_ns;
        run.thread = r.thread;
        take(context, &run);
    }
    return !r.malformed;
}
