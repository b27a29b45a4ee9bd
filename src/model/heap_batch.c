/* heap_batch - allocations that were recorded exactly: infos, and the batches that refer to them.
 */
#include "analyze/heap_pass.h"

#include "base/memory.h"

#include <string.h>

#define INFOS_MOST ((size_t)1 << 24)
#define GAP_MOST ((uint64_t)1 << 21) /* infos that a lost chunk may have defined */

/* ---- infos ---- */

static struct heap_info *make_info(struct heap *h, struct heap_state *s, uint64_t number)
{
    size_t room = s->info_room ? s->info_room : 64;

    if (!number || number > s->info_count + GAP_MOST)
        return NULL;
    if (number > s->info_count) {
        if (h->pass->infos + (number - s->info_count) > INFOS_MOST)
            return NULL;
        h->pass->infos += (size_t)number - s->info_count;
        s->info_count = (size_t)number;
    }
    while (room <= number)
        room *= 2;
    if (room > s->info_room) {
        s->infos = memory_resize(s->infos, room * sizeof(*s->infos));
        memset(s->infos + s->info_room, 0, (room - s->info_room) * sizeof(*s->infos));
        s->info_room = room;
    }
    return &s->infos[number];
}

void heap_take_infos(struct heap *h, const struct trace_event *ev)
{
    struct heap_process *p = heap_make_process(h, ev->infos.process);
    struct batch_info info = {.info = ev->infos.first - 1};
    const unsigned char *tail = ev->tail;
    size_t size = ev->tail_bytes;

    while (p && batch_next_info(&tail, &size, &info)) {
        struct heap_info *i = make_info(h, p->state, info.info);

        if (!i || i->defined) {
            h->left_out += !i;
            continue;
        }
        i->defined = true;
        i->bytes = info.bytes;
        i->python = info.origin == TRACE_BY_PYTHON;
        i->stack = info.stack <= h->frames.stack_count ? (uint32_t)info.stack : 0;
    }
}

/* ---- events ---- */

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
    struct heap_thread *t;

    if (!c->allocs && !c->frees)
        return;
    t = heap_make_thread(h, number);
    if (!t)
        return;
    if (!t->process)
        t->process = p->number;
    heap_add(&t->sums.allocated, &(struct heap_amount){c->bytes, c->allocs * 1000, 0, 0});
    heap_add(&t->sums.freed, &(struct heap_amount){c->freed_bytes, c->frees * 1000, 0, 0});
    heap_add(&t->sums.temporary,
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
    heap_rose(p, time_ns, in);
}

static bool take_free(const struct heap *h, struct heap_process *p, struct heap_info *i,
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
    if (in) {
        bool temporary = e->later_allocs < h->options.temporary;

        i->frees++;
        i->temporary += temporary;
        i->lived[e->lived] += i->lived[e->lived] != UINT32_MAX;
        c->frees++;
        c->freed_bytes += i->bytes;
        c->temporary += temporary;
        c->temporary_bytes += temporary ? i->bytes : 0;
    }
    return true;
}

/* A free is taken back. Of the last one it is known what it was counted as. */
static void take_unfree(const struct heap *h, struct heap_process *p, struct heap_info *i,
                        const struct batch_event *e, bool in, struct counts *c)
{
    struct heap_state *s = p->state;
    const struct batch_event *was = &s->freed;

    touch(s, i);
    i->live++;
    s->live.bytes += i->bytes;
    s->live.milliblocks += 1000;
    if (in && i->frees) {
        i->frees--;
        if (was->info == e->info && was->thread == e->thread && was->op == BATCH_FREE) {
            bool temporary = was->later_allocs < h->options.temporary && i->temporary;

            i->temporary -= temporary;
            i->lived[was->lived] -= i->lived[was->lived] != 0;
            c->frees--; /* the sums are modulo 2^64: the free may be in those before */
            c->freed_bytes -= i->bytes;
            c->temporary -= temporary;
            c->temporary_bytes -= temporary ? i->bytes : 0;
        }
        s->freed.op = BATCH_UNFREE;
    }
    heap_rose(p, e->time_ns, in);
}

static void take_event(struct heap *h, struct heap_process *p, const struct batch_event *e, bool in,
                       struct counts *c)
{
    struct heap_state *s = p->state;
    struct heap_info *i;

    s->events++;
    if (!e->info) {
        p->unknown_frees += in && e->op == BATCH_FREE;
        return;
    }
    if (e->info > s->info_count || !s->infos[e->info].defined) {
        h->left_out++;
        return;
    }
    i = &s->infos[e->info];
    if (e->op == BATCH_ALLOC)
        take_alloc(p, i, e->time_ns, in, c);
    else if (e->op == BATCH_UNFREE)
        take_unfree(h, p, i, e, in, c);
    else if (!take_free(h, p, i, e, in, c))
        p->unknown_frees += in;
}

void heap_take_batch(struct heap *h, const struct trace_event *ev)
{
    struct heap_process *p = heap_make_process(h, ev->batch.process);
    struct batch_reader r;
    struct batch_event e;
    struct counts c = {0};
    uint64_t time_ns = UINT64_MAX, thread = 0, before;
    bool in = false, wanted = false;
    int got = -1;

    if (!p || batch_open(&r, ev->tail, ev->tail_bytes, ev->time_ns, ev->batch.span_ns) < 0) {
        h->left_out++;
        return;
    }
    before = p->state->events;
    while ((got = batch_next(&r, &e)) > 0) {
        if (e.time_ns != time_ns || e.thread != thread) {
            add_run(h, p, thread, &c);
            c = (struct counts){0};
            wanted = heap_move_to(h, p, e.time_ns, &in);
            time_ns = e.time_ns;
            thread = e.thread;
        }
        if (wanted)
            take_event(h, p, &e, in, &c);
    }
    add_run(h, p, thread, &c);
    h->left_out += got < 0;
    h->events += p->state->events - before;
    h->exact = true;
}
