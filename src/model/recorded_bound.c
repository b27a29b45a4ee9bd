/* recorded_bound - peaks of a stretch of time, where they are estimates: no two questions of one trace may
 * contradict each other, so none is above that of the whole recording.
 */
#include "model/recorded.h"

void recorded_bound(struct recorded *r)
{
    struct selection all = r->selection;
    struct recorded whole;

    if (!r->heap.sampled || (!all.from_ns && !all.to_ns))
        return;
    all.from_ns = all.to_ns = 0;
    recorded_open(&whole, r->trace);
    recorded_read(&whole, &all, RECORDED_HEAP);
    heap_want(&whole.heap, HEAP_AT_PEAK, 0);
    recorded_read_again(&whole);
    heap_at(&whole.heap, HEAP_AT_PEAK, 0);
    heap_bound(&r->heap, &whole.heap);
    recorded_close(&whole);
}
