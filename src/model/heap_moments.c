/* heap_moments - see heap_moments.h. The moments of a process are passed in order by its events. */
#include "analyze/heap_moments.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define MOMENTS_MOST ((size_t)1 << 22)

struct heap_track_of { /* a process: how far it has come */
    uint64_t live;
    size_t first, next, end; /* of its moments: the first, the next */
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

static void move_to(struct heap_moments *m, struct heap_track_of *t, uint64_t time_ns)
{
    for (; t->next < t->end && m->at[t->next].time_ns <= time_ns; t->next++)
        m->at[t->next].live = m->at[t->next].most = t->live;
}

static void change(void *context, const struct heap_change *c)
{
    struct heap_moments *m = context;
    struct heap_track_of *t = &m->tracks[c->place - 1];
    struct heap_moment_at *last;

    move_to(m, t, c->time_ns);
    if (c->freed)
        t->live -= c->bytes < t->live ? c->bytes : t->live;
    else
        t->live += c->bytes;
    last = t->next > t->first ? &m->at[t->next - 1] : NULL;
    if (last && t->live > last->most)
        last->most = t->live;
}

void heap_moments_begin(struct heap_moments *m, struct heap *h)
{
    m->replay = (struct heap_replay){.heap = h, .take = change, .context = m};
    memory_sort(m->at, m->count, sizeof(*m->at), by_process_and_time);
    m->tracks = memory_zeroed((h->process_count + 1) * sizeof(*m->tracks));
    for (size_t i = 0; i < h->process_count; i++) {
        m->tracks[i].first = m->tracks[i].next = find(m, h->processes[i]->number, 0);
        m->tracks[i].end = find(m, h->processes[i]->number, UINT64_MAX);
    }
}

void heap_moments_take(struct heap_moments *m, const struct trace_event *ev)
{
    heap_replay(&m->replay, ev);
}

void heap_moments_end(struct heap_moments *m)
{
    for (size_t i = 0; i < m->replay.heap->process_count; i++)
        move_to(m, &m->tracks[i], UINT64_MAX);
    heap_replay_end(&m->replay);
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
