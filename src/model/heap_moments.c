/* heap_moments - see heap_moments.h. The moments of a process are passed in order by its events. */
#include "model/heap_moments.h"

#include "base/memory.h"
#include "base/search.h"

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
    memory_fit(m->at, m->room, m->count + 1);
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
    size_t low = 0;

    SEARCH(low, m->count, i, by_process_and_time(&m->at[i], &key) < 0);
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

void heap_moments_want(struct heap_moments *m, struct heap *h)
{
    heap_want_levels(h);
    m->heap = h;
    memory_sort(m->at, m->count, sizeof(*m->at), by_process_and_time);
    m->tracks = memory_zeroed((h->process_count + 1) * sizeof(*m->tracks));
    for (size_t i = 0; i < h->process_count; i++) {
        m->tracks[i].first = m->tracks[i].next = find(m, h->processes[i]->number, 0);
        m->tracks[i].end = find(m, h->processes[i]->number, UINT64_MAX);
    }
    if (m->count)
        heap_replay_add(h->replay, change, m, UINT64_MAX);
}

void heap_moments_end(struct heap_moments *m)
{
    for (size_t i = 0; i < m->heap->process_count; i++)
        move_to(m, &m->tracks[i], UINT64_MAX);
    highest_start(&m->highest, m->count);
    for (size_t i = 0; i < m->count; i++)
        highest_set(&m->highest, i, m->at[i].most);
    highest_settle(&m->highest);
}

uint64_t heap_moments_live(const struct heap_moments *m, uint64_t process, uint64_t time_ns)
{
    size_t i = find(m, process, time_ns);

    return i < m->count && m->at[i].process == process ? m->at[i].live : 0;
}

uint64_t heap_moments_most(const struct heap_moments *m, uint64_t process, uint64_t from_ns,
                           uint64_t to_ns)
{
    uint64_t live = heap_moments_live(m, process, from_ns);
    uint64_t most = highest_of(&m->highest, find(m, process, from_ns), find(m, process, to_ns));

    return heap_level(m->heap, most > live ? most : live);
}

void heap_moments_free(struct heap_moments *m)
{
    free(m->at);
    free(m->tracks);
    highest_free(&m->highest);
    memset(m, 0, sizeof(*m));
}
