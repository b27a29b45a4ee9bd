/* recorded_bound - peaks of a stretch of time, where they are estimates: no two questions of one
 * trace may contradict each other, so none is above that of the whole recording, which is read in
 * the same passes.
 */
#include "model/heap_replay.h"
#include "model/recorded.h"
#include "model/space_lens.h"

#include <string.h>

void recorded_bound_begin(struct recorded *r, unsigned int reads)
{
    struct recorded_bound *b = &r->bound;
    struct selection all = r->selection;

    all.from_ns = all.to_ns = 0;
    *b = (struct recorded_bound){.taken = true, .threads.names = &r->names};
    b->rest_ns = reads & RECORDED_RUN_WHOLE ? UINT64_MAX : heap_until(&r->selection);
    b->heap = (struct heap){.frames = &r->frames, .threads = &b->threads};
    run_start(&b->run, &r->names, trace_header(r->trace));
    b->run.of_space = all.space != SPACE_HOST;
    heap_start(&b->heap, &r->arena, &all, NULL);
    heap_replay_start(&b->heap, &r->arena);
}

/* A recording that says it is exact is no estimate: the rest of it need not be read. */
static bool is_exact(const struct recorded *r)
{
    const char *how = names_find(&r->names, TRACE_OF_RUN, FACT_RECORDED);

    return how && !strcmp(how, "exact");
}

void recorded_bound_take(struct recorded *r, const struct trace_event *ev)
{
    struct recorded_bound *b = &r->bound;

    if (!b->taken)
        return;
    if (ev->kind == TRACE_BATCH && is_exact(r)) {
        trace_narrow(r->trace, b->rest_ns);
        r->never_until_ns = b->rest_ns;
        recorded_bound_free(b);
        return;
    }
    threads_take(&b->threads, ev);
    heap_take(&b->heap, ev);
    run_take(&b->run, ev);
}

void recorded_bound_end(struct recorded *r)
{
    struct recorded_bound *b = &r->bound;

    if (!b->taken)
        return;
    heap_end(&b->heap);
    run_end(&b->run, trace_health(r->trace));
    heap_join(&b->heap, &b->run);
}

/* That of several processes together is known when the events were read again. */
void recorded_bound_heap(struct recorded *r)
{
    struct recorded_bound *b = &r->bound;

    if (!r->heap.sampled || !b->taken)
        return;
    heap_bound(&r->heap, &b->heap);
    heap_want(&b->heap, HEAP_AT_PEAK, 0);
    b->open = true;
    if (!b->heap.replay->count)
        recorded_bound_again(r);
}

/* The peak of one process is asked for without a word. */
struct heap_replay *recorded_bound_replay(const struct recorded *r)
{
    bool asked = r->heap.process_count == 1 || (r->heap.pass && heap_wants(&r->heap, HEAP_AT_PEAK));

    return r->bound.open && asked ? r->bound.heap.replay : NULL;
}

void recorded_bound_again(struct recorded *r)
{
    struct recorded_bound *b = &r->bound;

    if (!b->open || b->heap.replay->count)
        return;
    b->open = false;
    heap_bound_sum(&r->heap, heap_at(&b->heap, HEAP_AT_PEAK, 0).bytes);
    recorded_bound_free(b);
}

void recorded_bound_free(struct recorded_bound *b)
{
    if (b->heap.replay)
        heap_replay_end(b->heap.replay); /* which nobody may have asked for */
    heap_free(&b->heap);
    threads_free(&b->threads);
    *b = (struct recorded_bound){0};
}
