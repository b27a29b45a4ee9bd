/* heap_at - what lived at one moment: the trace is read again up to there, with nothing but the
 * live blocks of each info counted.
 */
#include "analyze/heap_pass.h"

#include <string.h>

static void start(struct heap *h, uint64_t *until_ns)
{
    *until_ns = 0;
    for (size_t n = 0; n < h->process_count; n++) {
        struct heap_state *s = h->processes[n]->state;

        s->events = 0;
        if (s->cut_ns > *until_ns)
            *until_ns = s->cut_ns;
        for (size_t i = 1; i <= s->info_count; i++)
            s->infos[i].at = 0;
    }
    for (size_t i = 0; i < h->pass->sampled_count; i++)
        h->pass->sampled[i].at = (struct heap_amount){0};
    heap_live_free(&h->pass->live);
    *until_ns += *until_ns > UINT64_MAX - TRACE_BATCH_SPAN_MOST ? UINT64_MAX - *until_ns
                                                                : TRACE_BATCH_SPAN_MOST;
}

bool heap_goes_on(const struct heap *h, struct heap_state *s, uint64_t time_ns)
{
    if (time_ns > h->pass->to_ns)
        return false;
    if (s->cut_events != UINT64_MAX)
        return s->events++ < s->cut_events;
    return s->events++, time_ns <= s->cut_ns;
}

static void cut_batch(struct heap *h, const struct trace_event *ev)
{
    struct heap_process *p = heap_process_of(h, ev->batch.process);
    struct heap_state *s = p ? p->state : NULL;
    struct batch_reader r;
    struct batch_event e;

    if (!s || batch_open(&r, ev->tail, ev->tail_bytes, ev->time_ns, ev->batch.span_ns) < 0)
        return;
    while (batch_next(&r, &e) > 0) {
        struct heap_info *i;

        if (!heap_goes_on(h, s, e.time_ns) || !e.info || e.info > s->info_count)
            continue;
        i = &s->infos[e.info];
        if (e.op != BATCH_FREE)
            i->at += i->defined;
        else
            i->at -= i->at != 0;
    }
}

static void cut_sample(struct heap *h, const struct trace_event *ev)
{
    struct heap_process *p = heap_process_of_thread(h, ev->alloc.thread);
    bool alloc = ev->kind == TRACE_ALLOC;
    struct heap_pass *pass = h->pass;
    struct heap_block *block;
    uint64_t place;

    if (!p || !intmap_get(&pass->processes, p->number, &place) ||
        !heap_goes_on(h, p->state, ev->time_ns))
        return;
    block = heap_live_find(&pass->live, (uint32_t)place, ev->alloc.address);
    if (block) {
        heap_subtract(&pass->sampled[block->entry].at, &block->amount);
        heap_live_remove(&pass->live, block);
    }
    if (!alloc)
        return;
    block = heap_live_add(&pass->live, (uint32_t)place, ev->alloc.address);
    if (!block)
        return;
    block->amount = heap_weigh(ev);
    block->entry = heap_sampled_place(h, (uint32_t)place, ev->alloc.stack, ev->alloc.bytes);
    if (block->entry == UINT32_MAX)
        heap_live_remove(&pass->live, block);
    else
        heap_add(&pass->sampled[block->entry].at, &block->amount);
}

void heap_cut(struct heap *h, struct trace *t)
{
    struct trace_event ev;
    uint64_t until_ns;

    start(h, &until_ns);
    trace_rewind(t, 0, until_ns);
    while (trace_next(t, &ev)) {
        if (ev.kind == TRACE_BATCH)
            cut_batch(h, &ev);
        else if (ev.kind == TRACE_ALLOC || ev.kind == TRACE_FREE)
            cut_sample(h, &ev);
    }
}

static void at_end(struct heap *h)
{
    for (size_t n = 0; n < h->process_count; n++) {
        struct heap_state *s = h->processes[n]->state;

        for (size_t i = 1; i <= s->info_count; i++)
            s->infos[i].at = s->infos[i].live;
    }
    for (size_t i = 0; i < h->pass->sampled_count; i++)
        h->pass->sampled[i].at = h->pass->sampled[i].sums.live;
}

/* The peak of all processes has its moment since heap_read. */
static void set_cuts(struct heap *h, enum heap_moment moment, uint64_t time_ns)
{
    for (size_t n = 0; n < h->process_count; n++) {
        struct heap_process *p = h->processes[n];

        p->state->cut_events = moment == HEAP_AT_PEAK ? p->state->peak_events : UINT64_MAX;
        if (moment == HEAP_AT_TIME && p->end_ns < time_ns)
            p->state->cut_events = 0;
        p->state->cut_ns = time_ns;
    }
}

struct heap_amount heap_at(struct heap *h, struct trace *t, enum heap_moment moment,
                           uint64_t time_ns)
{
    struct heap_pass *s = h->pass;

    if (s->at_known && s->at == moment && (moment != HEAP_AT_TIME || s->at_ns == time_ns))
        return s->at_sum;
    if (moment == HEAP_AT_END || (moment == HEAP_AT_WORKED && !heap_worked(h, t))) {
        at_end(h);
    } else if (moment == HEAP_AT_WORKED) {
        heap_cut(h, t);
    } else {
        set_cuts(h, moment, moment == HEAP_AT_PEAK ? h->peak_ns : time_ns);
        heap_cut(h, t);
    }
    s->at = moment;
    s->at_ns = time_ns;
    s->at_known = true;
    return s->at_sum = heap_fold_at(h);
}

struct heap_amount heap_at_asked(struct heap *h, struct trace *t, enum heap_moment standard)
{
    switch (h->options.at) {
    case QUESTION_AT_PEAK:
        return heap_at(h, t, HEAP_AT_PEAK, 0);
    case QUESTION_AT_END:
        return heap_at(h, t, HEAP_AT_END, 0);
    case QUESTION_AT_TIME:
        return heap_at(h, t, HEAP_AT_TIME, h->options.at_ns);
    case QUESTION_AT_DEFAULT:
        break;
    }
    return heap_at(h, t, standard, 0);
}

bool heap_live_between(const struct heap *h, uint64_t from_ns, uint64_t to_ns, uint64_t *bytes)
{
    const struct heap_grid *g = h->grid;
    size_t first = (size_t)(from_ns / g->step_ns), last = (size_t)(to_ns / g->step_ns);

    if (!g->count)
        return false;
    *bytes = 0;
    first = first < g->count ? first : g->count - 1;
    last = last < g->count ? last : g->count - 1;
    for (size_t i = first; i <= last; i++)
        if (g->steps[i].live + g->steps[i].high.rise > *bytes)
            *bytes = g->steps[i].live + g->steps[i].high.rise;
    return true;
}
