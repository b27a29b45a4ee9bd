/* heap_batch - allocations that were recorded exactly: the batches that refer to infos. */
#include "model/heap_pass.h"

#include "base/memory.h"
#include "model/batches.h"
#include "model/creators.h"

#define NEAR 8192 /* infos: as many as are in a near cache */

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

struct reading { /* of one record */
    struct heap *heap;
    struct heap_process *process;
    uint64_t time_ns, thread;
    bool wanted, in; /* of the run of one thread at one time; in: in the stretch */
    struct counts counts;
    uint64_t creator; /* of that thread */
    struct heap_course_taker course;
    uint32_t course_events; /* before these: */
    const struct batch_item *items;
};

/* ---- a free is taken back ---- */

static void touch(const struct heap_state *s, struct heap_info *i)
{
    if (i->epoch == s->epoch)
        return;
    i->epoch = s->epoch;
    i->saved = i->live;
}

/* How long a block had lived that is freed; or was not. */
static inline void note_life(struct heap *h, const struct heap_state *s, const struct heap_info *i,
                             unsigned int lived, bool freed)
{
    uint32_t *count = s->lives ? &s->lives[i - s->infos].of[lived] : NULL;

    h->lived[lived] += freed ? 1000 : -1000ull;
    if (count && freed)
        *count += *count != UINT32_MAX;
    else if (count)
        *count -= *count != 0;
}

/* Of the last one it is known what it was counted as. */
static void uncount(struct reading *r, struct heap_info *i)
{
    struct heap_state *s = r->process->state;
    struct counts *c = &r->counts;
    bool temporary = batch_later_allocs(&s->freed) < r->heap->options.temporary && i->temporary;

    i->temporary -= temporary;
    if (s->freed_in)
        note_life(r->heap, s, i, batch_lived(&s->freed), false);
    c->frees--; /* the sums are modulo 2^64: the free may be in those before */
    c->freed_bytes -= i->bytes;
    c->temporary -= temporary;
    c->temporary_bytes -= temporary ? i->bytes : 0;
}

static void take_unfree(struct reading *r, struct heap_info *i, uint32_t info)
{
    struct heap_state *s = r->process->state;

    r->heap->unfreed = true;
    touch(s, i);
    i->live++;
    s->live.bytes += i->bytes;
    s->live.milliblocks += 1000;
    if (r->in && i->frees) {
        i->frees--;
        if (s->freed.info == info && s->freed_thread == r->thread && s->freed.op == BATCH_FREE)
            uncount(r, i);
        s->freed.op = BATCH_UNFREE;
    }
    if (s->live.bytes > s->high)
        heap_rose(r->process, r->time_ns, r->in);
    heap_course_level(&r->course, s->live.bytes);
}

/* One that is not counted as most are: of no block that is known, or a free that is taken back. */
static void take_odd(struct reading *r, const struct batch_item *e, uint32_t place)
{
    struct heap *h = r->heap;
    struct heap_process *p = r->process;

    p->state->events++;
    if (!e->info)
        p->unknown_frees += r->in && e->op == BATCH_FREE && !h->options.born;
    else if (place >= HEAP_PLACE_ELSEWHERE)
        h->born_unknown += place == HEAP_PLACE_UNKNOWN && e->op == BATCH_ALLOC;
    else if (!place)
        h->left_out++;
    else if (e->op == BATCH_UNFREE)
        take_unfree(r, &p->state->infos[place], e->info);
    else
        p->unknown_frees += r->in;
}

/* ---- blocks come and go ---- */

struct level { /* what each event asks for, by itself while they are taken: nobody else has it */
    const struct batch_item *first; /* that is counted here */
    uint64_t live, high, peak, epoch;
    const struct batch_item *high_at, *peak_at, *freed; /* the last ones; NULL: none */
    uint64_t allocs, bytes, peak_allocs, temporary, temporary_bytes;
};

static inline struct level level_of(const struct heap_process *p, const struct batch_item *first)
{
    return (struct level){.first = first,
                          .live = p->state->live.bytes,
                          .high = p->state->high,
                          .peak = p->peak.bytes,
                          .epoch = p->state->epoch};
}

/* Milliblocks that so many events have added, of which some are allocations. */
static uint64_t added(uint64_t events, uint64_t allocs)
{
    return 1000 * (2 * allocs - events);
}

static void put_peak(const struct reading *r, const struct level *l)
{
    struct heap_process *p = r->process;

    p->peak = p->state->live;
    p->peak.bytes = l->peak;
    p->peak.milliblocks += added((uint64_t)(l->peak_at - l->first) + 1, l->peak_allocs);
    p->peak_ns = r->time_ns;
    p->state->twin.peak = p->state->twin.sampled;
}

static void put_counts(struct counts *c, const struct level *l, uint64_t events, uint64_t before)
{
    c->allocs += l->allocs;
    c->bytes += l->bytes;
    c->frees += events - l->allocs;
    c->freed_bytes += l->bytes + before - l->live;
    c->temporary += l->temporary;
    c->temporary_bytes += l->temporary_bytes;
}

/* All events before the end are counted. */
static void put_level(struct reading *r, struct level l, const struct batch_item *end)
{
    struct heap_state *s = r->process->state;
    uint64_t events = (uint64_t)(end - l.first);

    if (l.peak_at)
        put_peak(r, &l);
    if (l.high_at)
        s->high_event = s->events + (uint64_t)(l.high_at - l.first) + 1;
    if (l.freed) {
        s->freed = *l.freed;
        s->freed_thread = r->thread;
        s->freed_in = r->in;
    }
    if (r->in)
        put_counts(&r->counts, &l, events, s->live.bytes);
    s->live.bytes = l.live;
    s->live.milliblocks += added(events, l.allocs);
    s->high = l.high;
    s->epoch = l.epoch;
    s->events += events;
}

/* As heap_rose does. */
static inline void rise(struct level *l, const struct batch_item *e)
{
    l->high = l->live;
    l->high_at = e;
    if (l->live <= l->peak)
        return;
    l->peak = l->live;
    l->peak_at = e;
    l->peak_allocs = l->allocs;
    l->epoch++;
}

struct given { /* what is the same for all events of a run */
    struct heap_info *infos;
    struct heap_times *times; /* NULL: nobody asks */
    size_t info_count;
    bool placed, far; /* far: infos are not in a near cache */
    bool in;
    unsigned int brief; /* less later allocations than this: it was temporary */
    uint64_t time_ns;
    struct creators *creators;
};

static struct given given_of(const struct reading *r)
{
    const struct heap_state *s = r->process->state;

    return (struct given){.infos = s->infos,
                          .times = s->times,
                          .info_count = s->info_count,
                          .placed = s->places,
                          .far = s->info_count > NEAR && !s->places,
                          .in = r->in,
                          .brief = r->heap->options.temporary,
                          .time_ns = r->time_ns,
                          .creators = r->heap->pass->creators};
}

static void note_birth(const struct given *a, const struct heap_info *i)
{
    struct heap_times *t = &a->times[i - a->infos];

    if (!i->allocs)
        t->first_ns = a->time_ns;
    t->last_ns = a->time_ns;
}

static inline void take_alloc(const struct reading *r, const struct given *a, struct level *l,
                              struct heap_info *i, const struct batch_item *e)
{
    i->live++;
    l->live += i->bytes;
    l->bytes += i->bytes;
    l->allocs++;
    if (a->creators && (i->native || r->creator))
        creators_note(a->creators, i->stack, r->creator);
    if (!a->in)
        return;
    if (a->times)
        note_birth(a, i);
    i->allocs++;
    if (l->live > l->high)
        rise(l, e);
}

static inline void take_free(const struct reading *r, const struct given *a, struct level *l,
                             struct heap_info *i, const struct batch_item *e)
{
    bool temporary = batch_later_allocs(e) < a->brief;

    i->live--;
    l->live -= i->bytes;
    l->freed = e;
    if (!a->in)
        return;
    i->frees++;
    i->temporary += temporary;
    l->temporary += temporary;
    l->temporary_bytes += temporary ? i->bytes : 0;
    note_life(r->heap, r->process->state, i, batch_lived(e), true);
}

static inline void take_plain(const struct reading *r, const struct given *a, struct level *l,
                              struct heap_info *i, const struct batch_item *e)
{
    if (i->epoch != l->epoch) {
        i->epoch = l->epoch;
        i->saved = i->live;
    }
    if (e->op == BATCH_ALLOC)
        take_alloc(r, a, l, i, e);
    else
        take_free(r, a, l, i, e);
}

/* That of number 0, which is not defined, where it is none of those that are asked about. */
static inline struct heap_info *info_of(const struct given *a, const struct heap_state *s,
                                        uint32_t number)
{
    uint32_t place = a->placed ? heap_info_known(s, number) : number;

    return &a->infos[place <= a->info_count ? place : 0];
}

/* Most are: of a block that is known, and lives if it is freed. */
static inline bool is_plain(const struct heap_info *i, const struct batch_item *e)
{
    return i->defined && (e->op == BATCH_ALLOC || (e->op == BATCH_FREE && i->live));
}

static void count_course(struct reading *r, const struct batch_item *e)
{
    r->course.now.events = r->course_events + (uint32_t)(e - r->items) + 1;
}

static struct level take_odd_at(struct reading *r, struct level l, const struct batch_item *e)
{
    put_level(r, l, e);
    count_course(r, e);
    take_odd(r, e, heap_info_place(r->process->state, e->info));
    return level_of(r->process, e + 1);
}

/* What lives is in `l` alone, and nobody is shown where that is: so it can stay in registers. */
static void take_items(struct reading *r, const struct batch_item *end)
{
    const struct heap_state *s = r->process->state;
    const struct given a = given_of(r);
    struct level l = level_of(r->process, r->items);

    for (const struct batch_item *e = r->items; e < end; e++) {
        struct heap_info *i = info_of(&a, s, e->info);

        if (a.far && e + HEAP_AHEAD < end)
            heap_info_soon(s, e[HEAP_AHEAD].info);
        if (!is_plain(i, e)) {
            l = take_odd_at(r, l, e);
            continue;
        }
        take_plain(r, &a, &l, i, e);
        if (heap_course_notes(&r->course, l.live)) {
            count_course(r, e);
            heap_course_note(&r->course, l.live);
        }
    }
    put_level(r, l, end);
}

/* ---- runs ---- */

/* Events from here on are of another thread or time. */
static void next_run(struct reading *r, const struct batches_run *run)
{
    const struct threads_thread *t;

    if (run->time_ns != r->time_ns)
        heap_courses_next(&r->heap->pass->courses, &r->course, run->time_ns,
                          r->process->state->live.bytes);
    add_run(r->heap, r->process, r->thread, &r->counts);
    r->counts = (struct counts){0};
    r->wanted = heap_move_to(r->heap, r->process, run->time_ns, &r->in);
    r->time_ns = run->time_ns;
    r->thread = run->thread;
    if (!r->heap->pass->creators)
        return;
    t = threads_find(r->heap->threads, run->thread);
    r->creator = t ? t->creator : 0;
}

static void take_run(void *context, const struct batches_run *run)
{
    struct reading *r = context;

    if (run->time_ns != r->time_ns || run->thread != r->thread)
        next_run(r, run);
    r->items = run->items;
    r->course_events = r->course.now.events;
    if (r->wanted)
        take_items(r, run->items + run->count);
    r->course.now.events = r->course_events + (uint32_t)run->count;
}

/* That of number 0 is there, and not defined. */
static void make_ready(const struct heap *h, struct heap_state *s)
{
    if (!s->infos)
        heap_infos_fit(s, 1);
    if (h->pass->timed || h->samples) /* see heap_seen */
        heap_times_fit(s);
    if (h->pass->lived)
        heap_lives_fit(s);
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
    if (r.process)
        make_ready(h, r.process->state);
    got = r.process ? batches_each(ev, take_run, &r) : -1;

    h->left_out += got < 1;
    if (got < 0)
        return;
    heap_courses_end(&h->pass->courses, &r.course, r.process->state->live.bytes);
    add_run(h, r.process, r.thread, &r.counts);
    h->events += r.process->state->events - before;
}
