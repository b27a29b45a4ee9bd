/* recorded_peak - when the heap of a stretch of time was highest, for who judges the lives of the
 * whole recording: the stretch has a heap of its own, which is read in the same pass and forgotten.
 */
#include "model/recorded.h"

void recorded_peak_begin(struct recorded *r, unsigned int reads)
{
    struct selection stretch = r->selection;

    (void)reads;
    stretch.from_ns = stretch.finer.from_ns;
    stretch.to_ns = stretch.finer.to_ns;
    r->peak.heap = (struct heap){.frames = &r->frames, .threads = &r->threads};
    heap_start(&r->peak.heap, &r->arena, &stretch, NULL);
}

void recorded_peak_take(struct recorded *r, const struct trace_event *ev)
{
    if (ev->time_ns <= heap_until(&r->peak.heap.options))
        heap_take(&r->peak.heap, ev);
}

void recorded_peak_end(struct recorded *r)
{
    heap_end(&r->peak.heap);
    r->peak.time_ns = r->peak.heap.peak_ns;
    heap_free(&r->peak.heap);
}
