/* threads - see threads.h. */
#include "model/threads.h"

#include "model/allowed.h"

#define THREADS_MOST ((size_t)1 << 20)

struct threads_thread *threads_find(struct threads *t, uint64_t number)
{
    uint64_t place;

    if (t->last && t->last->number == number)
        return t->last;
    if (!intmap_get(&t->places, number, &place))
        return NULL;
    return t->last = t->list[place];
}

struct threads_thread *threads_make(struct threads *t, uint64_t number)
{
    struct threads_thread *one = threads_find(t, number);

    if (one || t->count == THREADS_MOST || t->count >= ALLOWED_THINGS(t->names->file_bytes))
        return one;
    arena_fit(t->names->arena, t->list, t->room, t->count + 1);
    one = arena_alloc(t->names->arena, sizeof(*one));
    one->number = number;
    one->place = t->count;
    intmap_put(&t->places, number, t->count);
    t->list[t->count++] = one;
    return one;
}

static void begin(struct threads *t, const struct trace_event *ev)
{
    struct threads_thread *one = threads_make(t, ev->thread.thread);

    if (!one || one->process)
        return;
    one->process = ev->thread.process;
    one->tid = ev->thread.tid;
    one->creator = ev->thread.creator;
    one->name = names_get(t->names, ev->thread.name);
    one->from_ns = one->to_ns = ev->time_ns;
}

void threads_take(struct threads *t, const struct trace_event *ev)
{
    struct threads_thread *one;

    if (ev->kind == TRACE_THREAD)
        begin(t, ev);
    if (ev->kind != TRACE_THREAD_END)
        return;
    one = threads_find(t, ev->thread_end.thread);
    if (!one)
        return;
    one->ended = true;
    one->to_ns = ev->time_ns;
}

void threads_free(struct threads *t)
{
    intmap_free(&t->places);
}
