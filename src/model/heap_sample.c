/* heap_sample - allocations that were sampled: each stands for several, and its free is known by
 * its address.
 */
#include "model/heap_pass.h"

#include "base/memory.h"
#include "model/allowed.h"
#include "model/creators.h"
#include "model/space_lens.h"

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

bool heap_is_whole(const struct trace_event *ev)
{
    return ev->present >= 6 && !ev->alloc.weight;
}

uint32_t heap_entry_place(struct heap *h, const struct heap_sampled *like)
{
    struct heap_pass *s = h->pass;
    uint64_t place, key = (uint64_t)like->process << 26 | like->stack;

    key = key << 10 | (uint64_t)like->memory << 8 | (uint64_t)like->whole << 7 | like->size_class;
    if (intmap_get(&s->sampled_places, key, &place))
        return (uint32_t)place;
    if (s->sampled_count == SAMPLED_MOST ||
        s->sampled_count >= ALLOWED_THINGS(h->frames->names->file_bytes))
        return UINT32_MAX;
    memory_fit(s->sampled, s->sampled_room, s->sampled_count + 1);
    s->sampled[s->sampled_count] = *like;
    intmap_put(&s->sampled_places, key, s->sampled_count);
    return (uint32_t)s->sampled_count++;
}

uint32_t heap_sampled_place(struct heap *h, uint32_t process, const struct trace_event *ev)
{
    uint64_t stack = ev->alloc.stack <= h->frames->stack_count ? ev->alloc.stack : 0;
    const struct heap_sampled like = {.process = process,
                                      .stack = (uint32_t)stack,
                                      .size_class = heap_size_class(ev->alloc.bytes),
                                      .whole = heap_is_whole(ev)};

    return heap_entry_place(h, &like);
}

void heap_entry_touch(const struct heap_state *s, struct heap_sampled *e)
{
    heap_worked_note(s, e);
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

    heap_entry_touch(p->state, e);
    heap_subtract(&e->sums.live, &block->amount);
    heap_subtract(&p->state->live, &block->amount);
    if (!e->whole)
        heap_twin_subtract(&p->state->twin, block->lots, &block->amount);
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
    const struct threads_thread *t = threads_find(h->threads, thread);
    struct heap_process *p = t ? heap_make_process(h, t->process) : NULL;

    if (!p)
        h->left_out++;
    return p && heap_move_to(h, p, time_ns, in) ? p : NULL;
}

static void note_creator(const struct heap *h, const struct trace_event *ev)
{
    const struct threads_thread *t = threads_find(h->threads, ev->alloc.thread);
    uint64_t stack = ev->alloc.stack;

    if (t && stack && stack <= h->frames->stack_count &&
        (t->creator || !h->frames->stacks[stack].python))
        creators_note(h->pass->creators, (uint32_t)stack, t->creator);
}

/* Of a space other than the host's each block is recorded. */
static void count_event(struct heap *h, struct heap_process *p, const struct trace_event *ev)
{
    bool sampled = ev->alloc.origin != SPACE_ORIGIN;

    p->samples += sampled;
    h->samples += sampled;
    p->exact |= !sampled;
    h->exact |= !sampled;
}

void heap_take_sample(struct heap *h, const struct trace_event *ev)
{
    struct heap_amount amount = heap_weigh(ev);
    struct heap_sampled *e;
    struct heap_block *block;
    bool in;
    struct heap_process *p = sample_of(h, ev->alloc.thread, ev->time_ns, &in);
    uint32_t place, entry;
    enum born_answer born;

    if (!p)
        return;
    place = heap_place_of(h, p);
    p->state->events++;
    block = heap_live_find(&h->pass->live, place, ev->alloc.address);
    if (block) /* its free was not recorded */
        end_sample(h, p, block, ev->time_ns, in, false);
    born = heap_born(h, ev->alloc.context, p->number);
    if (born != BORN_THERE) {
        h->born_unknown += born == BORN_UNKNOWN;
        h->pass->sampled_elsewhere |= ev->alloc.origin != SPACE_ORIGIN;
        if (!heap_is_whole(ev))
            heap_note_mean(h->pass, &amount, ev->alloc.bytes);
        return;
    }
    entry = heap_sampled_place(h, place, ev);
    block = entry == UINT32_MAX ? NULL : heap_live_add(&h->pass->live, place, ev->alloc.address);
    if (!block) {
        h->left_out++;
        return;
    }
    block->entry = entry;
    block->thread = ev->alloc.thread;
    block->born_ns = ev->time_ns;
    block->amount = amount;
    block->lots = heap_twin_lots(ev);
    e = &h->pass->sampled[entry];
    heap_entry_touch(p->state, e);
    heap_add(&e->sums.live, &amount);
    heap_add(&p->state->live, &amount);
    if (!e->whole)
        heap_twin_add(&p->state->twin, block->lots, &amount);
    if (!heap_is_whole(ev))
        heap_note_mean(h->pass, &amount, ev->alloc.bytes);
    h->events++;
    count_event(h, p, ev);
    if (in) {
        count_sample(e, ev, &amount);
        heap_add(&heap_sums_of_thread(h, threads_find(h->threads, ev->alloc.thread))->allocated,
                 &amount);
    }
    if (in)
        heap_twin_rose(p->state);
    heap_rose(p, ev->time_ns, in);
    if (h->pass->creators)
        note_creator(h, ev);
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
    block = heap_live_find(&h->pass->live, heap_place_of(h, p), ev->free.address);
    if (!block) {
        p->unknown_frees += in && !h->options.born;
        return;
    }
    if (in) {
        struct heap_sums *sums = heap_sums_of_thread(h, threads_find(h->threads, ev->free.thread));

        heap_add(&sums->freed, &block->amount);
        if (temporary)
            heap_add(&sums->temporary, &block->amount);
    }
    h->pass->fates_unknown = h->pass->fates_unknown || ev->present < 4;
    end_sample(h, p, block, ev->time_ns, in, temporary);
}
