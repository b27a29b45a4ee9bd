/* heap_sample - allocations that were sampled: each stands for several, and its free is known by
 * its address.
 */
#include "analyze/heap_pass.h"

#include "base/memory.h"

#define SAMPLED_MOST ((size_t)1 << 22)

struct heap_amount heap_weigh(const struct trace_event *ev)
{
    uint64_t milli = ev->present >= 6 && ev->alloc.weight ? ev->alloc.weight : 1000;
    double weight = (double)milli / 1000, bytes = (double)ev->alloc.bytes;
    unsigned __int128 product = (unsigned __int128)ev->alloc.bytes * milli + 500;
    double variance = weight > 1 ? weight * (weight - 1) : 0;

    return (struct heap_amount){(uint64_t)(product / 1000), milli, variance * bytes * bytes,
                                variance};
}

uint32_t heap_sampled_place(struct heap *h, uint32_t process, uint64_t stack, uint64_t bytes)
{
    struct heap_pass *s = h->pass;
    unsigned int size_class = heap_size_class(bytes);
    uint64_t known = stack <= h->frames.stack_count ? stack : 0, place;
    uint64_t key = ((uint64_t)process << 26 | known) << 7 | size_class;

    if (intmap_get(&s->sampled_places, key, &place))
        return (uint32_t)place;
    if (s->sampled_count == SAMPLED_MOST)
        return UINT32_MAX;
    if (s->sampled_count == s->sampled_room) {
        s->sampled_room = s->sampled_room ? s->sampled_room * 2 : 64;
        s->sampled = memory_resize(s->sampled, s->sampled_room * sizeof(*s->sampled));
    }
    s->sampled[s->sampled_count] = (struct heap_sampled){
        .process = process, .stack = (uint32_t)known, .size_class = size_class};
    intmap_put(&s->sampled_places, key, s->sampled_count);
    return (uint32_t)s->sampled_count++;
}

static void touch_sampled(const struct heap_state *s, struct heap_sampled *e)
{
    if (e->epoch == s->epoch)
        return;
    e->epoch = s->epoch;
    e->saved = e->sums.live;
}

static void count_sample(struct heap_sampled *e, const struct trace_event *ev,
                         const struct heap_amount *amount)
{
    uint64_t bytes = ev->alloc.bytes;

    if (!e->sums.allocated.milliblocks) {
        e->first_ns = ev->time_ns;
        e->least = e->most = bytes;
    }
    e->last_ns = ev->time_ns;
    e->least = bytes < e->least ? bytes : e->least;
    e->most = bytes > e->most ? bytes : e->most;
    heap_add(&e->sums.allocated, amount);
    if (ev->alloc.origin == TRACE_BY_PYTHON)
        heap_add(&e->python, amount);
}

static void end_sample(struct heap *h, struct heap_process *p, struct heap_block *block,
                       uint64_t time_ns, bool in, bool temporary)
{
    struct heap_sampled *e = &h->pass->sampled[block->entry];
    uint64_t lived = time_ns > block->born_ns ? time_ns - block->born_ns : 0;

    touch_sampled(p->state, e);
    heap_subtract(&e->sums.live, &block->amount);
    heap_subtract(&p->state->live, &block->amount);
    if (in) {
        heap_add(&e->sums.freed, &block->amount);
        if (temporary)
            heap_add(&e->sums.temporary, &block->amount);
        e->lived[batch_fate(false, 0, lived) >> 4] += block->amount.milliblocks;
    }
    heap_live_remove(&h->pass->live, block);
}

/* The process that a sample is of, moved to its time; NULL: it is left out. */
static struct heap_process *sample_of(struct heap *h, uint64_t thread, uint64_t time_ns, bool *in)
{
    const struct heap_thread *t = heap_thread_of(h, thread);
    struct heap_process *p = t ? heap_make_process(h, t->process) : NULL;

    if (!p)
        h->left_out++;
    return p && heap_move_to(h, p, time_ns, in) ? p : NULL;
}

static uint32_t place_of(const struct heap *h, const struct heap_process *p)
{
    uint64_t place = 0;

    intmap_get(&h->pass->processes, p->number, &place);
    return (uint32_t)place;
}

void heap_take_sample(struct heap *h, const struct trace_event *ev)
{
    struct heap_amount amount = heap_weigh(ev);
    struct heap_sampled *e;
    struct heap_block *block;
    bool in;
    struct heap_process *p = sample_of(h, ev->alloc.thread, ev->time_ns, &in);
    uint32_t place, entry;

    if (!p)
        return;
    place = place_of(h, p);
    p->state->events++;
    block = heap_live_find(&h->pass->live, place, ev->alloc.address);
    if (block) /* its free was not recorded */
        end_sample(h, p, block, ev->time_ns, in, false);
    entry = heap_sampled_place(h, place, ev->alloc.stack, ev->alloc.bytes);
    block = entry == UINT32_MAX ? NULL : heap_live_add(&h->pass->live, place, ev->alloc.address);
    if (!block) {
        h->left_out++;
        return;
    }
    block->entry = entry;
    block->thread = ev->alloc.thread;
    block->born_ns = ev->time_ns;
    block->amount = amount;
    e = &h->pass->sampled[entry];
    touch_sampled(p->state, e);
    heap_add(&e->sums.live, &amount);
    heap_add(&p->state->live, &amount);
    h->events++;
    p->samples++;
    h->samples++;
    if (in) {
        count_sample(e, ev, &amount);
        heap_add(&heap_thread_of(h, ev->alloc.thread)->sums.allocated, &amount);
    }
    heap_rose(p, ev->time_ns, in);
}

void heap_take_sample_free(struct heap *h, const struct trace_event *ev)
{
    bool in;
    struct heap_process *p = sample_of(h, ev->free.thread, ev->time_ns, &in);
    bool temporary = ev->present >= 4 && ev->free.later == 0 && h->options.temporary == 1;
    struct heap_block *block;

    if (!p)
        return;
    p->state->events++;
    h->events++;
    block = heap_live_find(&h->pass->live, place_of(h, p), ev->free.address);
    if (!block) {
        p->unknown_frees += in;
        return;
    }
    if (in) {
        struct heap_sums *sums = &heap_thread_of(h, ev->free.thread)->sums;

        heap_add(&sums->freed, &block->amount);
        if (temporary)
            heap_add(&sums->temporary, &block->amount);
    }
    h->pass->fates_unknown = h->pass->fates_unknown || ev->present < 4;
    end_sample(h, p, block, ev->time_ns, in, temporary);
}
