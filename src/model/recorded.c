/* recorded - see recorded.h. */
#include "model/recorded.h"

#include "base/count.h"
#include "model/heap_replay.h"
#include "model/process_lens.h"
#include "model/space_lens.h"

const struct run *recorded_whole(const struct recorded *r)
{
    return r->selection.to_ns ? &r->whole : &r->run;
}

/* ---- what is to be read ---- */

static void forget_never(struct recorded *r)
{
    taken_back_forget(&r->never);
    r->never_until_ns = 0;
}

static void forget(struct recorded *r)
{
    heap_free(&r->heap);
    creators_free(&r->creators);
    cpu_time_free(&r->cpu);
    region_list_free(&r->regions);
    sources_free(&r->sources);
    moments_free(&r->moments);
    recorded_bound_free(&r->bound);
    forget_never(r);
    threads_free(&r->threads);
    frames_free(&r->frames);
    names_free(&r->names);
    arena_free(&r->arena);
    r->frames = (struct frames){0};
    r->threads = (struct threads){0};
    r->names.arena = &r->arena;
    r->known = 0;
    r->defined = false;
}

static bool is_same(const struct selection *a, const struct selection *b)
{
    return a->from_ns == b->from_ns && a->to_ns == b->to_ns && a->temporary == b->temporary &&
           a->born == b->born && a->space == b->space && a->process == b->process;
}

/* What is asked for, with what that needs, less what is known. */
static unsigned int missing(const struct recorded *r, unsigned int reads)
{
    const unsigned int runs = RECORDED_RUN | RECORDED_RUN_WHOLE;
    const unsigned int with_heap = RECORDED_CREATORS | RECORDED_SEEN | RECORDED_LIVED |
                                   RECORDED_COURSES; /* while it is read */

    if (reads & (with_heap | RECORDED_REGIONS | RECORDED_PEAK))
        reads |= RECORDED_HEAP;
    if (reads & (RECORDED_HEAP | RECORDED_CPU | RECORDED_MOMENTS))
        reads |= RECORDED_FRAMES;
    if (reads & (RECORDED_HEAP | RECORDED_REGIONS))
        reads |= RECORDED_RUN;
    if (!r->selection.to_ns && reads & runs)
        reads = (reads & ~runs) | RECORDED_RUN;
    reads &= ~r->known;
    if (reads & with_heap || r->first_count)
        reads |= RECORDED_HEAP | (r->known & with_heap);
    if (r->listener_count || reads & (RECORDED_REGIONS | RECORDED_HEAP)) /* a heap joins a run */
        reads |= r->known & RECORDED_RUN ? RECORDED_RUN : 0;
    return reads;
}

/* Peaks of a stretch are bound by the whole: see recorded_bound.c. */
static unsigned int with_bound(const struct recorded *r, unsigned int reads)
{
    bool stretch = r->selection.from_ns || r->selection.to_ns;

    return reads & RECORDED_HEAP && stretch ? reads | RECORDED_BOUND : reads & ~RECORDED_BOUND;
}

static bool takes_part(const struct recorded *r, const struct taker *t, unsigned int reads)
{
    return t->reads ? t->reads & reads : !r->defined;
}

static void read_all(struct recorded *r, struct taken_back *records)
{
    struct trace_event ev;

    while (trace_next(r->trace, &ev))
        if (process_show(r->selection.process, &ev) && space_show(r->selection.space, &ev))
            taken_back_record(records, &ev, trace_place(r->trace));
    taken_back_end(records);
}

/* Nobody looks into batches. */
static void read_rest(struct recorded *r, recorded_take *take, void *context)
{
    struct trace_event ev;

    while (trace_next(r->trace, &ev))
        if (process_show(r->selection.process, &ev) && space_show(r->selection.space, &ev))
            take(context, &ev);
}

void recorded_pass(struct recorded *r, uint64_t until_ns, recorded_take *take, void *context)
{
    bool known = until_ns <= r->never_until_ns && !r->never.more;
    struct taken_back records = {
        .take = take, .context = context, .known = known ? &r->never : NULL};

    trace_rewind(r->trace, 0, until_ns);
    read_all(r, &records);
}

/* What is found of frees that were taken back is known to those who come after. */
static void read_noting(struct recorded *r, uint64_t until_ns, recorded_take *take, void *context)
{
    struct taken_back records = {.take = take, .context = context, .notes = &r->never};

    forget_never(r);
    r->never_until_ns = until_ns;
    read_all(r, &records);
}

struct first_pass {
    struct recorded *recorded;
    const struct taker *active[TAKERS];
    size_t count;
    uint64_t until_ns; /* of all but those that take the whole */
};

static void take_first(void *context, const struct trace_event *ev)
{
    const struct first_pass *p = context;
    struct recorded *r = p->recorded;

    for (size_t i = 0; i < p->count; i++)
        if (ev->time_ns <= p->until_ns || p->active[i]->whole)
            p->active[i]->take(r, ev);
    for (int i = 0; i < r->first_count && ev->time_ns <= p->until_ns; i++)
        r->first[i].take(r->first[i].context, ev);
}

static void read_once(struct recorded *r, unsigned int reads)
{
    const unsigned int of_blocks = RECORDED_HEAP | RECORDED_BOUND | RECORDED_PEAK |
                                   RECORDED_MOMENTS;
    struct first_pass pass = {.recorded = r};
    uint64_t until_ns;

    pass.until_ns = reads & RECORDED_RUN_WHOLE ? UINT64_MAX : heap_until(&r->selection);
    for (const struct taker *t = takers; t < takers + TAKERS; t++) {
        if (!takes_part(r, t, reads))
            continue;
        if (t->begin)
            t->begin(r, reads);
        if (t->take)
            pass.active[pass.count++] = t;
    }
    until_ns = reads & RECORDED_BOUND ? UINT64_MAX : pass.until_ns;
    trace_rewind(r->trace, 0, until_ns);
    trace_judge(r->trace, pass.until_ns);
    if (r->first_count || reads & of_blocks)
        read_noting(r, until_ns, take_first, &pass);
    else
        read_rest(r, take_first, &pass);
    for (const struct taker *t = takers; t < takers + TAKERS; t++)
        if (t->end && takes_part(r, t, reads))
            t->end(r);
    r->defined = true;
}

void recorded_read(struct recorded *r, const struct selection *o, unsigned int reads)
{
    if (r->known && !is_same(&r->selection, o))
        forget(r);
    r->selection = *o;
    if (r->heap.pass)
        heap_narrow(&r->heap, o);
    reads = with_bound(r, missing(r, reads));
    if (reads & RECORDED_HEAP) {
        heap_free(&r->heap);
        creators_free(&r->creators);
        recorded_bound_free(&r->bound);
    }
    if (reads)
        read_once(r, reads);
    if (reads & RECORDED_HEAP && !(reads & RECORDED_RUN)) /* which was read before */
        heap_join(&r->heap, &r->run);
    if (reads & RECORDED_HEAP)
        recorded_bound_heap(r);
    r->listener_count = r->first_count = 0;
    r->known |= reads & ~(unsigned int)RECORDED_PEAK; /* another stretch may be asked about next */
}

void recorded_listen(struct recorded *r, run_tick *tick, void *context)
{
    if (r->listener_count == RECORDED_TAKERS)
        return;
    r->listeners[r->listener_count].tick = tick;
    r->listeners[r->listener_count++].context = context;
}

void recorded_take_first(struct recorded *r, recorded_take *take, void *context)
{
    if (r->first_count == RECORDED_TAKERS)
        return;
    r->first[r->first_count].take = take;
    r->first[r->first_count++].context = context;
}

void recorded_open(struct recorded *r, struct trace *t)
{
    *r = (struct recorded){.trace = t};
    r->names.arena = &r->arena;
    r->names.file_bytes = trace_size(t);
}

void recorded_close(struct recorded *r)
{
    forget(r);
}
