/* batches - see batches.h. A portion fits into the processor's nearest cache. */
#include "model/batches.h"

#define PORTION 256

int batches_each(const struct trace_event *ev, batches_take *take, void *context)
{
    struct batch_event events[PORTION];
    struct batch_reader r;
    size_t count;

    if (batch_open(&r, ev->tail, ev->tail_bytes, ev->time_ns, ev->batch.span_ns) < 0)
        return -1;
    do {
        count = batch_take(&r, events, PORTION);
        if (count)
            take(context, events, count);
    } while (count == PORTION);
    return !r.malformed;
}
