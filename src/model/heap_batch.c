/* heap_batch - allocations that were recorded exactly: the batches that refer to infos. */
#include "model/heap_pass.h"

#include "base/memory.h"
#include "model/batches.h"
#include "model/creators.h"

static inline void touch(const struct heap_state *s, struct heap_info *i)
{
    if (i->epoch == s->epoch)
        return;
    i->epoch = s->epoch;
    i->saved = i->live;
}

struct counts { /* of a run of one thread, until they are added to it */
    uint64_t allocs, bytes, frees, freed_bytes, temporary, temporary_bytes;
};

static void add_run(struct heap *h, const struct heap_process *p, uint64_t number,
                    const struct counts *c)
{
    struct threads_thread *t;
    struct heap_sums *sums;

    if (!c->allocs && !c->frees)
        return;
    t = threads_make(h->threads, number);
    if (!t)
        return;
    if (!t->process)
        t->process = p->number;
    sums = heap_sums_of_thread(h, t);
    heap_add(&sums->allocated, &(struct heap_amount){c->bytes, c->allocs * 1000, 0, 0});
    heap_add(&sums->freed, &(struct heap_amount){c->freed_bytes, c->frees * 1000, 0, 0});
    heap_add(&sums->temporary,
             &(struct heap_amount){c->temporary_bytes, c->temporary * 1000, 0, 0});
}

static void take_alloc(struct heap_process *p, struct heap_info *i, uint64_t time_ns, bool in,
                       struct counts *c)
{
    struct heap_state *s = p->state;

    touch(s, i);
    i->live++;
    s->live.bytes += i->bytes;
    s->live.milliblocks += 1000;
    if (in) {
        if (!i->allocs++)
            i->first_ns = time_ns;
        i->last_ns = time_ns;
        c->allocs++;
        c->bytes += i->bytes;
    }
    if (s->live.bytes > s->high)
        heap_rose(p, time_ns, in);
}

/* How long a block had lived that is freed; or was not. */
static void note_life(struct heap *h, const struct heap_state *s, const struct heap_info *i,
                      unsigned int lived, bool freed)
{
    uint32_t *count = s->lives ? &s->lives[i - s->infos].of[lived] : NULL;

    h->lived[lived] += freed ? 1000 : -1000ull;
    if (count && freed)
        *count += *count != UINT32_MAX;
    else if (count)
        *count -= *count != 0;
}

static bool take_free(struct heap *h, struct heap_process *p, struct heap_info *i,
                      const struct batch_event *e, bool in, struct counts *c)
{
    struct heap_state *s = p->state;

    if (!i->live)
        return false;
    touch(s, i);
    i->live--;
    s->live.bytes -= i->bytes;
    s->live.milliblocks -= 1000;
    s->freed = *e;
    s->freed_in = in;
    if (in) {
        bool temporary = e->later_allocs < h->options.temporary;

        i->frees++;
        i->temporary += temporary;
        note_life(h, s, i, e->lived, true);
        c->frees++;
        c->freed_bytes += i->bytes;
        c->temporary += temporary;
        c->temporary_bytes += temporary ? i->bytes : 0;
    }
    return true;
}

/* A free is taken back. Of the last one it is known what it was counted as. */
static void take_unfree(struct heap *h, struct heap_process *p, struct heap_info *i,
                        const struct batch_event *e, bool in, struct counts *c)
{
    struct heap_state *s = p->state;
    const struct batch_event *was = &s->freed;

    h->unfreed = true;
    touch(s, i);
    i->live++;
    s->live.bytes += i->bytes;
    s->live.milliblocks += 1000;
    if (in && i->frees) {
        i->frees--;
        if (was->info == e->info && was->thread == e->thread && was->op == BATCH_FREE) {
            bool temporary = was->later_allocs < h->options.temporary && i->temporary;

            i->temporary -= temporary;
            if (s->freed_in)
                note_life(h, s, i, was->lived, false);
            c->frees--; /* the sums are modulo 2^64: the free may be in those before */
            c->freed_bytes -= i->bytes;
            c->temporary -= temporary;
            c->temporary_bytes -= temporary ? i->bytes : 0;
        }
        s->freed.op = BATCH_UNFREE;
    }
    if (s->live.bytes > s->high)
        heap_rose(p, e->time_ns, in);
}

struct reading { /* of one record */
    struct heap *heap;
    struct heap_process *process;
    uint64_t time_ns, thread;
    bool wanted, in; /* of the run of one thread at one time; in: in the stretch */
    struct counts counts;
    uint64_t creator; /* of that thread */
    struct heap_course_taker course;
};

static void take_event(struct reading *r, const struct batch_event *e)
{
    struct heap *h = r->heap;
    struct heap_process *p = r->process;
    struct heap_state *s = p->state;
    uint32_t place = heap_info_place(s, e->info);
    struct heap_info *i;

    s->events++;
    if (!e->info) {
        p->unknown_frees += r->in && e->op == BATCH_FREE && !h->options.born;
        return;
    }
    if (place >= HEAP_PLACE_ELSEWHERE) {
        h->born_unknown += place == HEAP_PLACE_UNKNOWN && e->op == BATCH_ALLOC;
        return;
    }
    if (!place) {
        h->left_out++;
        return;
    }
    i = &s->infos[place];
    if (e->op == BATCH_ALLOC)
        take_alloc(p, i, e->time_ns, r->in, &r->counts);
    else if (e->op == BATCH_UNFREE)
        take_unfree(h, p, i, e, r->in, &r->counts);
    else if (!take_free(h, p, i, e, r->in, &r->counts)) {
        p->unknown_frees += r->in;
        return;
    }
    heap_course_level(&r->course, s->live.bytes);
    if (h->pass->creators && e->op == BATCH_ALLOC && (i->native || r->creator))
        creators_note(h->pass->creators, i->stack, r->creator);
}

static void end_course(struct reading *r)
{
    struct heap_courses *c = &r->heap->pass->courses;
    struct heap_course *now = &r->course.now;

    if (!c->wanted || !now->events)
        return;
    now->end = r->process->state->live.bytes - r->course.start;
    memory_fit(c->list, c->room, c->count + 1);
    c->list[c->count++] = *now;
}

static void next_course(struct reading *r, uint64_t time_ns)
{
    if (!r->heap->pass->courses.wanted)
        return;
    end_course(r);
    heap_course_begin(&r->course, time_ns, r->course.now.first + r->course.now.events,
                      r->process->state->live.bytes);
}

/* Events from here on are of another thread or time. */
static void next_run(struct reading *r, const struct batch_event *e)
{
    const struct threads_thread *t;

    if (e->time_ns != r->time_ns)
        next_course(r, e->time_ns);
    add_run(r->heap, r->process, r->thread, &r->counts);
    r->counts = (struct counts){0};
    r->wanted = heap_move_to(r->heap, r->process, e->time_ns, &r->in);
    r->time_ns = e->time_ns;
    r->thread = e->thread;
    if (!r->heap->pass->creators)
        return;
    t = threads_find(r->heap->threads, e->thread);
    r->creator = t ? t->creator : 0;
}

static void take_portion(void *context, const struct batch_event *events, size_t count)
{
    struct reading *r = context;

    for (const struct batch_event *e = events; e < events + count; e++) {
        if (e + HEAP_AHEAD < events + count)
            heap_info_soon(r->process->state, e[HEAP_AHEAD].info);
        if (e->time_ns != r->time_ns || e->thread != r->thread)
            next_run(r, e);
        r->course.now.events++;
        if (r->wanted)
            take_event(r, e);
    }
}

void heap_take_batch(struct heap *h, const struct trace_event *ev)
{
    struct reading r = {.heap = h,
                        .process = heap_make_process(h, ev->batch.process),
                        .time_ns = UINT64_MAX,
                        .course.rise = UINT64_MAX};
    uint64_t before = r.process ? r.process->state->events : 0;
    int got;

    h->pass->courses.count = 0;
    if (r.process && h->pass->lived)
        heap_lives_fit(r.process->state);
    got = r.process ? batches_each(ev, take_portion, &r) : -1;

    h->left_out += got < 1;
    if (got < 0)
        return;
    end_course(&r);
    add_run(h, r.process, r.thread, &r.counts);
    h->events += r.process->state->events - before;
}
