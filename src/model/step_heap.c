/* step_heap - see step_heap.h. The moments of a process are passed in order by its events: an event
 * that has the time of a moment came after it.
 */
#include "model/step_heap.h"

#include "base/memory.h"
#include "base/search.h"
#include "model/heap_pass.h"

#include <stdlib.h>

#define COMMON_MOST 256 /* moments that are of all processes */

struct step_heap_of {
    uint64_t *times; /* of its moments, in order */
    size_t count, room;
    size_t next;            /* the first that was not passed */
    struct step_sums *sums; /* [i]: up to times[i], and [count] after all of them */
    struct heap_amount live;
};

static void add_time(struct step_heap_of *o, uint64_t time_ns)
{
    memory_fit(o->times, o->room, o->count + 1);
    o->times[o->count++] = time_ns;
}

static int compare_times(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* How many of its moments are before a time. */
static size_t moments_before(const struct step_heap_of *o, uint64_t time_ns)
{
    size_t low = 0;

    SEARCH(low, o->count, i, o->times[i] < time_ns);
    return low;
}

static void move_to(struct step_heap_of *o, uint64_t time_ns)
{
    while (o->next < o->count && o->times[o->next] <= time_ns) {
        o->sums[o->next].after = o->live;
        o->sums[o->next + 1].least = o->sums[o->next + 1].most = o->live.bytes;
        o->sums[o->next + 1].most_ns = o->times[o->next];
        o->next++;
    }
}

/* What is freed that was allocated in the same piece of time takes its uncertainty with it. */
static void add_variance(struct step_heap_of *o, struct step_sums *s, const struct heap_change *c)
{
    uint64_t from = o->next ? o->times[o->next - 1] : 0;

    if (c->info)
        return;
    if (c->freed && c->born_ns >= from)
        s->change_variance -= c->amount.variance;
    else
        s->change_variance += c->amount.variance;
    if (s->change_variance < 0)
        s->change_variance = 0;
}

static void change(void *context, const struct heap_change *c)
{
    struct step_heap *s = context;
    struct step_heap_of *o = &s->of[c->place - 1];
    struct heap_amount amount = c->info ? (struct heap_amount){c->bytes, 1000, 0, 0} : c->amount;
    struct step_sums *sums;

    move_to(o, c->time_ns);
    sums = &o->sums[o->next];
    add_variance(o, sums, c);
    if (c->freed) {
        heap_add(&sums->freed, &amount);
        heap_subtract(&o->live, &amount);
        if (o->live.bytes < sums->least)
            sums->least = o->live.bytes;
        return;
    }
    if (c->revived)
        heap_subtract(&sums->freed, &amount);
    else
        heap_add(&sums->allocated, &amount);
    heap_add(&o->live, &amount);
    if (o->live.bytes > sums->most) {
        sums->most = o->live.bytes;
        sums->most_ns = c->time_ns;
    }
}

/* One of no process is of all of them, if it is not one of many. */
static void add_moment(struct step_heap *s, const struct named_moment *m)
{
    const struct heap_process *p = heap_process_of(s->heap, m->process);

    if (p)
        add_time(&s->of[heap_place_of(s->heap, p) - 1], m->time_ns);
    else if (!m->process && s->common++ < COMMON_MOST)
        for (size_t i = 0; i < s->heap->process_count; i++)
            add_time(&s->of[i], m->time_ns);
}

void step_heap_want(struct step_heap *s, struct heap *h, const struct moments *m)
{
    *s = (struct step_heap){.heap = h};
    s->of = memory_zeroed((h->process_count + 1) * sizeof(*s->of));
    for (size_t i = 0; i < m->count; i++)
        add_moment(s, &m->list[i]);
    for (size_t i = 0; i < h->process_count; i++) {
        struct step_heap_of *o = &s->of[i];

        memory_sort(o->times, o->count, sizeof(*o->times), compare_times);
        o->sums = memory_zeroed((o->count + 1) * sizeof(*o->sums));
    }
    heap_want_levels(h);
    heap_replay_add(h->replay, change, s, UINT64_MAX);
}

void step_heap_end(struct step_heap *s)
{
    for (size_t i = 0; s->of && i < s->heap->process_count; i++)
        move_to(&s->of[i], UINT64_MAX);
}

/* As every level that is shown. */
static void bound(const struct step_heap *s, struct step_sums *sums)
{
    sums->least = heap_level(s->heap, sums->least);
    sums->most = heap_level(s->heap, sums->most);
    sums->after.bytes = heap_level(s->heap, sums->after.bytes);
}

bool step_heap_between(const struct step_heap *s, uint64_t process, uint64_t from_ns,
                       uint64_t to_ns, struct step_sums *out)
{
    const struct heap_process *p = s->of ? heap_process_of(s->heap, process) : NULL;
    const struct step_heap_of *o = p ? &s->of[heap_place_of(s->heap, p) - 1] : NULL;
    size_t last;

    *out = (struct step_sums){.least = UINT64_MAX};
    if (!o || !o->count)
        return false;
    last = moments_before(o, to_ns);
    for (size_t i = moments_before(o, from_ns + 1); i <= last; i++) {
        heap_add(&out->allocated, &o->sums[i].allocated);
        heap_add(&out->freed, &o->sums[i].freed);
        out->change_variance += o->sums[i].change_variance;
        if (o->sums[i].least < out->least)
            out->least = o->sums[i].least;
        if (o->sums[i].most > out->most) {
            out->most = o->sums[i].most;
            out->most_ns = o->sums[i].most_ns;
        }
    }
    out->after = o->sums[last].after;
    bound(s, out);
    return true;
}

/* False: it is none of its moments. */
static bool add_at(const struct step_heap *s, size_t place, uint64_t time_ns,
                   struct heap_amount *out)
{
    const struct step_heap_of *o = &s->of[place];
    size_t at = moments_before(o, time_ns);

    if (at == o->count || o->times[at] != time_ns)
        return false;
    heap_add(out, &o->sums[at].after);
    return true;
}

static bool find_at(const struct step_heap *s, uint64_t process, uint64_t time_ns,
                    struct heap_amount *out)
{
    const struct heap_process *p = s->of ? heap_process_of(s->heap, process) : NULL;
    bool any = false;

    *out = (struct heap_amount){0};
    if (process || !s->of)
        return p && add_at(s, heap_place_of(s->heap, p) - 1, time_ns, out);
    for (size_t i = 0; i < s->heap->process_count; i++)
        if (s->heap->processes[i]->end_ns >= time_ns)
            any |= add_at(s, i, time_ns, out);
    return any;
}

bool step_heap_at(const struct step_heap *s, uint64_t process, uint64_t time_ns,
                  struct heap_amount *out)
{
    if (!find_at(s, process, time_ns, out))
        return false;
    out->bytes = heap_level(s->heap, out->bytes);
    return true;
}

void step_heap_free(struct step_heap *s)
{
    for (size_t i = 0; s->of && i < s->heap->process_count; i++) {
        free(s->of[i].times);
        free(s->of[i].sums);
    }
    free(s->of);
    *s = (struct step_heap){0};
}
