/* space_look - see space_look.h. */
#include "questions/space_look.h"

static void read_peak(struct recorded *r)
{
    heap_want(&r->heap, HEAP_AT_PEAK, 0);
    recorded_read_again(r);
    r->heap.peak = heap_at(&r->heap, HEAP_AT_PEAK, 0);
}

struct space_seen space_seen_of(const struct heap *h)
{
    return (struct space_seen){h->any,
                               h->peak.bytes,
                               h->peak_ns,
                               h->sums.live.bytes,
                               heap_blocks(&h->sums.allocated),
                               h->sums.allocated.bytes};
}

struct space_seen space_look(struct trace *t, const struct selection *o, uint64_t space,
                             struct heap_edges *curve)
{
    struct selection asked = *o;
    struct space_seen seen;
    struct recorded r;

    asked.space = space;
    recorded_open(&r, t);
    if (curve) {
        heap_edges_start(curve, &r.heap, trace_last_ns(t), o->finer.from_ns, o->finer.to_ns);
        recorded_take_first(&r, heap_edges_record, curve);
    }
    recorded_read(&r, &asked, RECORDED_HEAP | (curve ? RECORDED_COURSES : 0u));
    if (curve)
        heap_edges_end(curve);
    if (r.heap.any)
        read_peak(&r);
    seen = space_seen_of(&r.heap);
    recorded_close(&r);
    return seen;
}

const char *space_kind(enum trace_space_kind kind)
{
    static const char *const kinds[TRACE_SPACE_KINDS] = {
        [TRACE_SPACE_DEVICE] = "device",           [TRACE_SPACE_PINNED] = "host, pinned",
        [TRACE_SPACE_SHARED] = "managed",          [TRACE_SPACE_POOL] = "pool, used",
        [TRACE_SPACE_RESERVED] = "pool, reserved",
    };

    return kinds[kind];
}
