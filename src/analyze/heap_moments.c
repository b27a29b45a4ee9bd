/* heap_moments - see heap_moments.h. The moments of a process are passed in order by its events. */
#include "analyze/heap_moments.h"

#include "analyze/heap_pass.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define MOMENTS_MOST ((size_t)1 << 22)

struct heap_track_of { /* a process: how far it has come */
    uint64_t live;
    size_t next, end; /* the next of its moments */
};

void heap_moments_ask(struct heap_moments *m, uint64_t process, uint64_t time_ns)
{
    if (m->count == MOMENTS_MOST)
        return;
    if (m->count == m->room) {
        m->room = m->room ? m->room * 2 : 256;
        m->at = memory_resize(m->at, m->room * sizeof(*m->at));
    }
    m->at[m->count++] = (struct heap_moment_at){process, time_ns, 0, 0};
}

static int by_process_and_time(const void *a, const void *b)
{
    const struct heap_moment_at *x = a, *y = b;

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static size_t find(const struct heap_moments *m, uint64_t process, uint64_t time_ns)
{
    const struct heap_moment_at key = {.process = process, .time_ns = time_ns};
    size_t low = 0, high = m->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (by_process_and_time(&m->at[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void heap_moments_begin(struct heap_moments *m, struct heap *h)
{
    m->heap = h;
    if (m->count)
        qsort(m->at, m->count, sizeof(*m->at), by_process_and_time);
    m->tracks = memory_zeroed((h->process_count + 1) * sizeof(*m->tracks));
    for (size_t i = 0; i < h->process_count; i++) {
        m->tracks[i].next = find(m, h->processes[i]->number, 0);
        m->tracks[i].end = find(m, h->processes[i]->number, UINT64_MAX);
    }
}

static void move_to(struct heap_moments *m, struct heap_track_of *t, uint64_t time_ns)
{
    for (; t->next < t->end && m->at[t->next].time_ns <= time_ns; t->next++)
        m->at[t->next].live = m->at[t->next].most = t->live;
}

static void change(struct heap_moments *m, struct heap_track_of *t, size_t first, uint64_t time_ns,
                   uint64_t live)
{
    struct heap_moment_at *last;

    move_to(m, t, time_ns);
    t->live = live;
    last = t->next > first ? &m->at[t->next - 1] : NULL;
    if (last && live > last->most)
        last->most = live;
}

static size_t place_of(const struct heap_moments *m, const struct heap_process *p)
{
    uint64_t place = 0;

    intmap_get(&m->heap->pass->processes, p->number, &place);
    return (size_t)place - 1;
}

static void take_batch(struct heap_moments *m, const struct trace_event *ev)
{
    struct heap_process *p = heap_process_of(m->heap, ev->batch.process);
    struct batch_reader r;
    struct batch_event e;
    struct heap_track_of *t;
    size_t first;

    if (!p || batch_open(&r, ev->tail, ev->tail_bytes, ev->time_ns, ev->batch.span_ns) < 0)
        return;
    t = &m->tracks[place_of(m, p)];
    first = find(m, p->number, 0);
    while (batch_next(&r, &e) > 0) {
        const struct heap_info *i;

        if (!e.info || e.info > p->state->info_count)
            continue;
        i = &p->state->infos[e.info];
        if (e.op != BATCH_FREE)
            change(m, t, first, e.time_ns, t->live + i->bytes);
        else
            change(m, t, first, e.time_ns, t->live > i->bytes ? t->live - i->bytes : 0);
    }
}

static void take_sample(struct heap_moments *m, const struct trace_event *ev)
{
    struct heap_process *p = heap_process_of_thread(m->heap, ev->alloc.thread);
    struct heap_track_of *t;
    struct heap_block *block;
    uint64_t live;
    uint32_t place;

    if (!p)
        return;
    place = (uint32_t)place_of(m, p) + 1;
    t = &m->tracks[place - 1];
    live = t->live;
    block = heap_live_find(&m->live, place, ev->alloc.address);
    if (block) {
        live -= block->amount.bytes < live ? block->amount.bytes : live;
        heap_live_remove(&m->live, block);
    }
    if (ev->kind == TRACE_ALLOC && (block = heap_live_add(&m->live, place, ev->alloc.address))) {
        block->amount = heap_weigh(ev);
        live += block->amount.bytes;
    }
    change(m, t, find(m, p->number, 0), ev->time_ns, live);
}

void heap_moments_take(struct heap_moments *m, const struct trace_event *ev)
{
    if (ev->kind == TRACE_BATCH)
        take_batch(m, ev);
    else if (ev->kind == TRACE_ALLOC || ev->kind == TRACE_FREE)
        take_sample(m, ev);
}

void heap_moments_end(struct heap_moments *m)
{
    for (size_t i = 0; i < m->heap->process_count; i++)
        move_to(m, &m->tracks[i], UINT64_MAX);
    heap_live_free(&m->live);
}

uint64_t heap_moments_live(const struct heap_moments *m, uint64_t process, uint64_t time_ns)
{
    size_t i = find(m, process, time_ns);

    return i < m->count && m->at[i].process == process ? m->at[i].live : 0;
}

uint64_t heap_moments_most(const struct heap_moments *m, uint64_t process, uint64_t from_ns,
                           uint64_t to_ns)
{
    uint64_t most = heap_moments_live(m, process, from_ns);

    for (size_t i = find(m, process, from_ns);
         i < m->count && m->at[i].process == process && m->at[i].time_ns < to_ns; i++)
        most = m->at[i].most > most ? m->at[i].most : most;
    return most;
}

void heap_moments_free(struct heap_moments *m)
{
    free(m->at);
    free(m->tracks);
    memset(m, 0, sizeof(*m));
}
