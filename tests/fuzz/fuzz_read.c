/* fuzz_read - any bytes as a trace: no crash, no growth, and two readings agree. */
#define REPLAY_MUTATE mutate_trace
#include "mutate.h"
#include "replay.h"

#include "trace/batch.h"
#include "trace/read.h"

#include <stdlib.h>

#define MIX(hash, value) ((hash) = ((hash) ^ (value)) * 0x100000001b3u)

struct reading {
    uint64_t hash, records, definitions, least_ns, greatest_ns;
};

static void demand(int truth)
{
    if (!truth)
        abort();
}

/* Every decoder over every tail, whatever it is of: what they give is bounded by its bytes, and
 * after the end they give no more.
 */
static void read_batch(struct reading *r, const struct trace_event *ev)
{
    struct batch_reader reader;
    struct batch_event e;
    uint64_t count = 0;

    if (batch_open(&reader, ev->tail, ev->tail_bytes, ev->time_ns, ev->batch.span_ns) < 0)
        return;
    for (; batch_next(&reader, &e) > 0; count++) {
        demand(e.op == BATCH_ALLOC || e.op == BATCH_FREE || e.op == BATCH_UNFREE);
        demand(e.later_allocs <= 15 && e.lived <= 15);
        MIX(r->hash, e.time_ns ^ e.thread ^ e.info ^ e.op);
    }
    demand(count <= ev->tail_bytes);
    demand(batch_next(&reader, &e) <= 0);
}

static void read_definitions(struct reading *r, const struct trace_event *ev)
{
    const unsigned char *tail = ev->tail;
    size_t size = ev->tail_bytes;
    uint64_t next = ev->fields[0];
    struct batch_info info = {.info = ev->infos.first - 1};
    struct trace_stack stack;

    while (batch_next_stack(&tail, &size, &next, &stack)) {
        demand(stack.parent < stack.stack && size < ev->tail_bytes);
        MIX(r->hash, stack.stack ^ stack.frame);
    }
    demand(!batch_next_stack(&tail, &size, &next, &stack) &&
           tail + size == ev->tail + ev->tail_bytes);
    tail = ev->tail;
    size = ev->tail_bytes;
    while (batch_next_info(&tail, &size, &info))
        MIX(r->hash, info.info ^ info.bytes ^ info.stack ^ info.origin);
    demand(!batch_next_info(&tail, &size, &info) && tail + size == ev->tail + ev->tail_bytes);
}

static struct reading read_through(struct trace *t)
{
    struct reading r = {.least_ns = UINT64_MAX};
    struct trace_event ev;
    struct trace_pair pair;

    while (trace_next(t, &ev)) {
        r.records++;
        MIX(r.hash, ev.kind);
        for (unsigned int i = 0; i < TRACE_FIELDS_MOST; i++)
            MIX(r.hash, ev.fields[i]);
        for (size_t i = 0; i < ev.tail_bytes; i++)
            MIX(r.hash, ev.tail[i]);
        if (trace_shape_of(ev.kind)->tail == TRACE_TAIL_BYTES) {
            read_batch(&r, &ev);
            read_definitions(&r, &ev);
        }
        while (trace_next_pair(&ev, &pair))
            MIX(r.hash, pair.metric ^ pair.value);
        if (!trace_shape_of(ev.kind)->timed) {
            r.definitions++;
            continue;
        }
        r.least_ns = ev.time_ns < r.least_ns ? ev.time_ns : r.least_ns;
        r.greatest_ns = ev.time_ns > r.greatest_ns ? ev.time_ns : r.greatest_ns;
    }
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trace_health health;
    struct reading all, again, part;
    struct err err;
    struct trace *t = trace_open_bytes(data, size, "fuzz", &err);

    if (!t)
        return 0;
    all = read_through(t);
    health = trace_health(t);
    demand(health.damaged_bytes == 0 || health.damaged > 0);
    trace_rewind(t, 0, UINT64_MAX);
    again = read_through(t);
    demand(all.hash == again.hash && all.records == again.records);
    demand(health.damaged == trace_health(t).damaged);
    trace_rewind(t, 1000, 1000000);
    part = read_through(t);
    demand(health.damaged || part.definitions == all.definitions);
    demand(part.records == part.definitions ||
           (part.least_ns >= 1000 && part.greatest_ns <= 1000000));
    trace_close(t);
    return 0;
}
