/* heap_worked - the last allocation by a line of Python of each process. When an interpreter ends,
 * it frees what its program held: what that program leaked is alive before, not after.
 *
 * It is found by its number among the events of its process: many may have the same time.
 */
#include "analyze/heap_pass.h"

#include "base/memory.h"

#include <stdlib.h>

/* By number of the stack; a parent comes before its children. NULL: there is no Python. */
static bool *python_stacks(const struct frames *f)
{
    bool *are = memory_zeroed(f->stack_count + 1), any = false;

    for (size_t i = 1; i <= f->stack_count; i++) {
        const struct frames_stack *s = &f->stacks[i];
        uint64_t flavour = s->frame && s->frame <= f->frame_count ? f->frames[s->frame].flavour : 0;

        are[i] = are[s->parent] || (flavour & ~(uint64_t)TRACE_FRAME_GUESSED) == TRACE_FRAME_PYTHON;
        any = any || are[i];
    }
    if (!any)
        free(are);
    return any ? are : NULL;
}

static void worked(const struct heap *h, struct heap_process *p, uint64_t stack, uint64_t time_ns,
                   const bool *python)
{
    if (stack > h->frames.stack_count || !python[stack])
        return;
    p->state->worked_events = p->state->events;
    p->worked_ns = time_ns;
}

static void take_batch(const struct heap *h, const struct trace_event *ev, const bool *python)
{
    struct heap_process *p = heap_process_of(h, ev->batch.process);
    struct batch_reader r;
    struct batch_event e;

    if (!p || batch_open(&r, ev->tail, ev->tail_bytes, ev->time_ns, ev->batch.span_ns) < 0)
        return;
    while (batch_next(&r, &e) > 0)
        if (heap_goes_on(h, p->state, e.time_ns) && e.op != BATCH_FREE && e.info &&
            e.info <= p->state->info_count)
            worked(h, p, p->state->infos[e.info].stack, e.time_ns, python);
}

static void take_sample(const struct heap *h, const struct trace_event *ev, const bool *python)
{
    struct heap_process *p = heap_process_of_thread(h, ev->alloc.thread);

    if (p && heap_goes_on(h, p->state, ev->time_ns) && ev->kind == TRACE_ALLOC)
        worked(h, p, ev->alloc.stack, ev->time_ns, python);
}

bool heap_worked(struct heap *h, struct trace *t)
{
    bool *python = python_stacks(&h->frames);
    struct trace_event ev;

    for (size_t n = 0; n < h->process_count; n++) {
        struct heap_state *s = h->processes[n]->state;

        s->events = 0;
        s->worked_events = s->cut_events = s->cut_ns = UINT64_MAX;
    }
    if (!python)
        return false;
    trace_rewind(t, 0, UINT64_MAX);
    while (trace_next(t, &ev)) {
        if (ev.kind == TRACE_BATCH)
            take_batch(h, &ev, python);
        else if (ev.kind == TRACE_ALLOC || ev.kind == TRACE_FREE)
            take_sample(h, &ev, python);
    }
    free(python);
    for (size_t n = 0; n < h->process_count; n++) {
        struct heap_state *s = h->processes[n]->state;

        s->events = 0;
        s->cut_events = s->worked_events;
    }
    return true;
}
