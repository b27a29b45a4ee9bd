/* recorded_takers - the models as takers of the first pass: each begins, takes every record, ends.
 * See recorded.h.
 */
#include "model/recorded.h"

#include "base/count.h"
#include "model/allowed.h"
#include "model/heap_replay.h"
#include "model/space_lens.h"

static void begin_names(struct recorded *r, unsigned int reads)
{
    (void)reads;
    r->threads.names = &r->names;
}

static void take_names(struct recorded *r, const struct trace_event *ev)
{
    if (ev->kind == TRACE_STRING)
        names_string(&r->names, ev);
    if (ev->time_ns <= heap_until(&r->selection))
        threads_take(&r->threads, ev);
}

static void begin_frames(struct recorded *r, unsigned int reads)
{
    (void)reads;
    r->frames.names = &r->names;
}

static void take_frames(struct recorded *r, const struct trace_event *ev)
{
    frames_take(&r->frames, ev);
}

static void end_frames(struct recorded *r)
{
    r->frames.of_device |= r->selection.space != SPACE_HOST;
    frames_share(&r->frames);
}

static void begin_run(struct recorded *r, unsigned int reads)
{
    run_start(&r->run, &r->names, trace_header(r->trace));
    r->run.of_space = r->selection.space != SPACE_HOST;
    for (int i = 0; i < r->listener_count; i++)
        run_listen(&r->run, r->listeners[i].tick, r->listeners[i].context);
    if (reads & RECORDED_REGIONS)
        run_listen(&r->run, region_tick, &r->regions);
}

static void take_run(struct recorded *r, const struct trace_event *ev)
{
    if (!r->selection.to_ns || ev->time_ns <= r->selection.to_ns)
        run_take(&r->run, ev);
}

static void begin_whole(struct recorded *r, unsigned int reads)
{
    (void)reads;
    run_start(&r->whole, &r->names, trace_header(r->trace));
    r->whole.of_space = r->selection.space != SPACE_HOST;
}

static void take_whole(struct recorded *r, const struct trace_event *ev)
{
    run_take(&r->whole, ev);
}

static void end_whole(struct recorded *r)
{
    run_end(&r->whole, trace_health(r->trace));
}

static void end_run(struct recorded *r)
{
    run_end(&r->run, trace_health(r->trace));
    if (r->heap.pass)
        heap_join(&r->heap, &r->run);
}

static void begin_heap(struct recorded *r, unsigned int reads)
{
    r->heap = (struct heap){.frames = &r->frames, .threads = &r->threads};
    heap_start(&r->heap, &r->arena, &r->selection, reads & RECORDED_CREATORS ? &r->creators : NULL);
    if (reads & RECORDED_SEEN)
        heap_want_seen(&r->heap);
    if (reads & RECORDED_LIVED)
        heap_want_lives(&r->heap);
    if (reads & RECORDED_COURSES)
        heap_want_courses(&r->heap);
    heap_replay_start(&r->heap, &r->arena);
}

static void take_heap(struct recorded *r, const struct trace_event *ev)
{
    heap_take(&r->heap, ev);
}

static void end_heap(struct recorded *r)
{
    heap_end(&r->heap);
}

static void begin_cpu(struct recorded *r, unsigned int reads)
{
    (void)reads;
    r->cpu = (struct cpu_time){.from_ns = r->selection.from_ns,
                               .to_ns = r->selection.to_ns,
                               .most = ALLOWED_THINGS(r->names.file_bytes)};
}

static void take_cpu(struct recorded *r, const struct trace_event *ev)
{
    cpu_time_take(&r->cpu, ev);
}

static void begin_regions(struct recorded *r, unsigned int reads)
{
    (void)reads;
    region_start(&r->regions, &r->names, &r->selection);
}

static void take_regions(struct recorded *r, const struct trace_event *ev)
{
    region_take(&r->regions, ev);
}

static void end_regions(struct recorded *r)
{
    region_end(&r->regions);
}

static void begin_sources(struct recorded *r, unsigned int reads)
{
    (void)reads;
    r->sources.arena = &r->arena;
}

static void take_sources(struct recorded *r, const struct trace_event *ev)
{
    sources_take(&r->sources, &r->names, ev);
}

static void begin_moments(struct recorded *r, unsigned int reads)
{
    (void)reads;
    moments_start(&r->moments, &r->names, &r->threads, &r->frames);
}

static void take_moments(struct recorded *r, const struct trace_event *ev)
{
    moments_take(&r->moments, ev);
}

static void end_moments(struct recorded *r)
{
    moments_end(&r->moments);
}

/* Regions begin before the run, which they listen to, and end after it. */
const struct taker takers[] = {
    {0, begin_names, take_names, NULL},
    {RECORDED_FRAMES, begin_frames, take_frames, end_frames},
    {RECORDED_HEAP, begin_heap, take_heap, end_heap},
    {RECORDED_BOUND, recorded_bound_begin, recorded_bound_take, recorded_bound_end, .whole = true},
    {RECORDED_PEAK, recorded_peak_begin, recorded_peak_take, recorded_peak_end},
    {RECORDED_REGIONS, begin_regions, take_regions, NULL},
    {RECORDED_RUN, begin_run, take_run, end_run},
    {RECORDED_RUN_WHOLE, begin_whole, take_whole, end_whole},
    {RECORDED_CPU, begin_cpu, take_cpu, NULL},
    {RECORDED_SOURCES, begin_sources, take_sources, NULL},
    {RECORDED_MOMENTS, begin_moments, take_moments, end_moments},
    {RECORDED_REGIONS, NULL, NULL, end_regions},
};

_Static_assert(COUNT(takers) == TAKERS, "whoever reads has room for all");
