/* heap_source - see heap_source.h. */
#include "model/heap_source.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define PORTION 512

static size_t tail_of(const struct trace_event *ev)
{
    return ev->kind == TRACE_BATCH || ev->kind == TRACE_MMAP ? ev->tail_bytes : 0;
}

enum heap_rank heap_source_rank(const struct trace_event *ev)
{
    if (ev->kind == TRACE_PROCESS_END)
        return HEAP_RANK_ENDED;
    return ev->kind == TRACE_MMAP || ev->kind == TRACE_BATCH || ev->kind == TRACE_ALLOC ||
                   ev->kind == TRACE_FREE
             ? HEAP_RANK_EVENT
             : HEAP_RANK_NOTED;
}

void heap_source_drop(struct heap_waiting *w, struct heap_source *s)
{
    struct heap_pending *p = s->first;

    w->bytes -= sizeof(*p) + tail_of(&p->ev);
    s->first = p->next;
    s->open = false;
    free(p->courses);
    free(p);
}

/* The next events of its first batch, or its courses; none: it is over. */
static void read_more(struct heap_source *s)
{
    const struct heap_pending *p = s->first;

    s->at = s->count = 0;
    if (p->courses) {
        s->count = s->open ? 0 : p->course_count;
        s->open = true;
        return;
    }
    if (!s->open && batch_open(&s->reader, p->ev.tail, p->ev.tail_bytes, p->ev.time_ns,
                               p->ev.batch.span_ns) < 0)
        return;
    s->open = true;
    if (!s->portion)
        s->portion = memory_zeroed(PORTION * sizeof(*s->portion));
    s->count = batch_take(&s->reader, s->portion, PORTION);
}

static void set_turn(struct heap_source *s, uint64_t time_ns, enum heap_rank rank)
{
    bool back = s->place && time_ns < s->turn.time_ns;

    s->turn = heap_turn(back ? s->turn.time_ns : time_ns, rank, s->first->order);
}

void heap_source_time(struct heap_source *s, uint64_t time_ns)
{
    set_turn(s, time_ns, HEAP_RANK_EVENT);
}

uint64_t heap_source_next_ns(const struct heap_source *s)
{
    return s->first->courses ? s->first->courses[s->at].time_ns : s->reader.time_ns;
}

bool heap_source_advance(struct heap_waiting *w, struct heap_source *s)
{
    while (s->at == s->count && s->first && s->first->ev.kind == TRACE_BATCH) {
        read_more(s);
        if (!s->count)
            heap_source_drop(w, s);
    }
    if (!s->first)
        return false;
    if (s->at < s->count)
        heap_source_time(s, heap_source_next_ns(s));
    else
        set_turn(s, s->first->first_ns, heap_source_rank(&s->first->ev));
    return true;
}

static void keep_courses(struct heap_pending *p, const struct heap_courses *c)
{
    size_t bytes = c ? c->count * sizeof(*c->list) : 0;

    p->course_count = c ? c->count : 0;
    p->courses = c ? memory_resize(NULL, bytes + 1) : NULL;
    if (bytes)
        memcpy(p->courses, c->list, bytes);
}

bool heap_source_push(struct heap_waiting *w, struct heap_source *s, const struct trace_event *ev,
                      const struct heap_courses *courses)
{
    size_t bytes = tail_of(ev);
    struct heap_pending *p = memory_resize(NULL, sizeof(*p) + bytes);
    uint64_t span_ns = ev->kind == TRACE_BATCH ? ev->batch.span_ns : 0;
    bool waits = s->first != NULL;

    w->bytes += sizeof(*p) + bytes;
    p->next = NULL;
    p->order = w->records++;
    p->ev = *ev;
    p->first_ns = ev->time_ns > span_ns ? ev->time_ns - span_ns : 0;
    if (bytes)
        memcpy(p->tail, ev->tail, bytes);
    p->ev.tail = p->tail;
    keep_courses(p, courses);
    if (waits)
        s->last->next = p;
    else
        s->first = p;
    s->last = p;
    if (waits)
        return false;
    set_turn(s, p->first_ns, heap_source_rank(ev));
    return true;
}
