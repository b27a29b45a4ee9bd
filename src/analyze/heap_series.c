/* heap_series - see heap_series.h. The events are those that heap_at.c counts. */
#include "analyze/heap_series.h"

#include "analyze/heap_pass.h"
#include "base/memory.h"

#include <stdlib.h>

struct heap_track {
    uint64_t live;
    int last; /* the step that it stands in */
    uint64_t high[HEAP_SERIES_STEPS];
};

struct heap_hold {
    uint32_t process, group; /* process: 1 + its place in heap.processes */
    uint64_t bytes;
};

static int by_end(const void *left, const void *right)
{
    const struct heap_process *l = *(struct heap_process *const *)left;
    const struct heap_process *r = *(struct heap_process *const *)right;

    return l->end_ns < r->end_ns ? -1 : l->end_ns > r->end_ns;
}

/* ---- tracks ---- */

static void move_to(struct heap_track *t, int step)
{
    while (t->last < step)
        t->high[++t->last] = t->live;
}

static void change(struct heap_series *s, uint32_t group, uint64_t time_ns, uint64_t more,
                   uint64_t less)
{
    struct heap_track **at = &s->tracks[group], *t;
    uint64_t step = time_ns > s->from_ns ? (time_ns - s->from_ns) / s->step_ns : 0;

    if (!*at)
        *at = arena_alloc(s->heap->run.names.arena, sizeof(**at));
    t = *at;
    move_to(t, step < HEAP_SERIES_STEPS ? (int)step : HEAP_SERIES_STEPS - 1);
    t->live = t->live + more > less ? t->live + more - less : 0;
    if (time_ns < s->from_ns)
        t->high[0] = t->live; /* before the stretch: only what it begins with counts */
    else if (t->live > t->high[t->last])
        t->high[t->last] = t->live;
}

static struct heap_hold *hold_of(struct heap_series *s, uint32_t process, uint32_t group)
{
    uint64_t key = (uint64_t)process << 32 | group, place;

    if (intmap_get(&s->places, key, &place))
        return &s->holds[place];
    if (s->hold_count == s->hold_room) {
        s->hold_room = s->hold_room ? s->hold_room * 2 : 64;
        s->holds = memory_resize(s->holds, s->hold_room * sizeof(*s->holds));
    }
    intmap_put(&s->places, key, s->hold_count);
    s->holds[s->hold_count] = (struct heap_hold){process, group, 0};
    return &s->holds[s->hold_count++];
}

static void rise(struct heap_series *s, struct heap_hold *h, uint64_t time_ns, uint64_t bytes)
{
    h->bytes += bytes;
    change(s, h->group, time_ns, bytes, 0);
    change(s, s->count, time_ns, bytes, 0);
}

static void fall(struct heap_series *s, struct heap_hold *h, uint64_t time_ns, uint64_t bytes)
{
    bytes = bytes < h->bytes ? bytes : h->bytes;
    h->bytes -= bytes;
    change(s, h->group, time_ns, 0, bytes);
    change(s, s->count, time_ns, 0, bytes);
}

/* ---- events ---- */

static void drop(struct heap_series *s, const struct heap_process *p)
{
    uint64_t place = 0;

    intmap_get(&s->heap->pass->processes, p->number, &place);
    for (size_t i = 0; i < s->hold_count; i++)
        if (s->holds[i].process == place && s->holds[i].bytes)
            fall(s, &s->holds[i], p->end_ns, s->holds[i].bytes);
}

static void end_processes(struct heap_series *s, uint64_t time_ns)
{
    while (s->ended < s->end_count && s->ends[s->ended]->end_ns < time_ns)
        drop(s, s->ends[s->ended++]);
}

static uint32_t group_of(const struct heap_series *s, uint64_t stack)
{
    return s->groups[stack <= s->heap->frames.stack_count ? stack : 0];
}

static void take(void *context, const struct heap_change *c)
{
    struct heap_series *s = context;
    struct heap_hold *hold;

    if (c->time_ns > s->to_ns || (c->info && c->freed && !c->info->at))
        return;
    if (c->info)
        c->info->at += c->freed ? (uint64_t)-1 : 1;
    end_processes(s, c->time_ns);
    hold = hold_of(s, c->place, group_of(s, c->stack));
    (c->freed ? fall : rise)(s, hold, c->time_ns, c->bytes);
}

void heap_series_begin(struct heap_series *s, struct heap *h, const struct trace *t,
                       const uint32_t *groups, uint32_t count)
{
    uint64_t last = trace_last_ns(t),
             to = h->options.to_ns && h->options.to_ns < last ? h->options.to_ns : last;
    struct arena *a = h->run.names.arena;

    *s = (struct heap_series){.heap = h, .groups = groups, .count = count, .to_ns = to};
    s->replay = (struct heap_replay){.heap = h, .take = take, .context = s};
    s->from_ns = h->options.from_ns < to ? h->options.from_ns : to;
    s->step_ns = (to - s->from_ns) / HEAP_SERIES_STEPS + 1;
    s->tracks = arena_alloc(a, (count + 1) * sizeof(struct heap_track *));
    s->ends = arena_alloc(a, (h->process_count + 1) * sizeof(struct heap_process *));
    for (size_t n = 0; n < h->process_count; n++) {
        struct heap_state *state = h->processes[n]->state;

        for (size_t i = 1; i <= state->info_count; i++)
            state->infos[i].at = 0;
        if (h->processes[n]->end_ns != UINT64_MAX)
            s->ends[s->end_count++] = h->processes[n];
    }
    memory_sort(s->ends, s->end_count, sizeof(struct heap_process *), by_end);
}

void heap_series_take(struct heap_series *s, const struct trace_event *ev)
{
    heap_replay(&s->replay, ev);
}

void heap_series_end(struct heap_series *s)
{
    end_processes(s, s->to_ns);
    for (uint32_t i = 0; i <= s->count; i++)
        if (s->tracks[i])
            move_to(s->tracks[i], HEAP_SERIES_STEPS - 1);
    heap_replay_end(&s->replay);
    intmap_free(&s->places);
    free(s->holds);
    s->holds = NULL;
}

const struct table_series *heap_series_of(const struct heap_series *s, uint32_t group)
{
    struct table_series *out;

    if (!s->tracks || !s->tracks[group])
        return NULL;
    out = arena_alloc(s->heap->run.names.arena, sizeof(*out));
    *out = (struct table_series){s->from_ns, s->step_ns, HEAP_SERIES_STEPS, s->tracks[group]->high};
    return out;
}
