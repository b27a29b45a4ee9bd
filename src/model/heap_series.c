/* heap_series - see heap_series.h. Every event of a recording comes by here, so what it touches is
 * small: the info it is of, and the tracks of its group and of all.
 */
#include "model/heap_series.h"

#include "base/memory.h"
#include "model/heap_pass.h"
#include "model/heap_replay.h"

#include <stdlib.h>

struct heap_track {
    uint64_t live;
    uint64_t top;   /* the largest of the step that it stands in */
    uint64_t *high; /* of those before; NULL: it never held anything */
    int last;       /* that step */
};

struct heap_series_info { /* what is exact: blocks of one size, so they need not be added up */
    uint32_t live;        /* blocks */
    uint32_t track;       /* 1 + its group; 0: not known yet */
};

struct heap_hold {           /* what was sampled */
    uint32_t process, group; /* process: 1 + its place in heap.processes */
    uint64_t bytes;
    uint32_t next; /* 1 + the place of the process's next one; 0: none */
};

static int by_end(const void *left, const void *right)
{
    const struct heap_process *l = *(struct heap_process *const *)left;
    const struct heap_process *r = *(struct heap_process *const *)right;

    return l->end_ns < r->end_ns ? -1 : l->end_ns > r->end_ns;
}

/* ---- tracks ---- */

static struct heap_track *track_of(struct heap_series *s, uint32_t group)
{
    struct heap_track *t = &s->tracks[group];

    if (!t->high)
        t->high = arena_alloc(s->heap->arena, HEAP_SERIES_STEPS * sizeof(*t->high));
    if (!s->all->high)
        track_of(s, s->count);
    return t;
}

static void move_to(struct heap_track *t, int step)
{
    t->high[t->last] = t->top;
    while (++t->last < step)
        t->high[t->last] = t->live;
    t->top = t->live;
}

static void set_time(struct heap_series *s, uint64_t time_ns)
{
    uint64_t step = time_ns > s->from_ns ? (time_ns - s->from_ns) / s->step_ns : 0;

    s->time_ns = time_ns;
    s->step = step < HEAP_SERIES_STEPS ? (int)step : HEAP_SERIES_STEPS - 1;
}

/* Before the stretch only what it begins with counts; processes are not quite in step. */
static inline void change(const struct heap_series *s, struct heap_track *t, uint64_t more,
                          uint64_t less)
{
    if (t->last < s->step)
        move_to(t, s->step);
    t->live = t->live + more > less ? t->live + more - less : 0;
    if (s->time_ns < s->from_ns)
        *(t->last ? &t->high[0] : &t->top) = t->live;
    else if (t->live > t->top)
        t->top = t->live;
}

static uint32_t hold_of(struct heap_series *s, uint32_t process, uint32_t group)
{
    uint64_t key = (uint64_t)process << 32 | group, place;

    if (intmap_get(&s->places, key, &place))
        return (uint32_t)place;
    memory_fit(s->holds, s->hold_room, s->hold_count + 1);
    intmap_put(&s->places, key, s->hold_count);
    s->holds[s->hold_count] = (struct heap_hold){process, group, 0, s->firsts[process - 1]};
    s->firsts[process - 1] = (uint32_t)s->hold_count + 1;
    return (uint32_t)s->hold_count++;
}

static inline void rise(struct heap_series *s, struct heap_track *t, uint64_t bytes)
{
    change(s, t, bytes, 0);
    change(s, s->all, bytes, 0);
}

static inline void fall(struct heap_series *s, struct heap_track *t, uint64_t bytes)
{
    change(s, t, 0, bytes);
    change(s, s->all, 0, bytes);
}

/* ---- events ---- */

/* What a process held goes with it. */
static void drop(struct heap_series *s, const struct heap_process *p)
{
    uint32_t place = heap_place_of(s->heap, p);
    struct heap_series_info *infos = s->infos[place - 1];

    set_time(s, p->end_ns);
    for (size_t i = 1; i <= p->state->info_count; i++) {
        if (infos[i].live)
            fall(s, &s->tracks[infos[i].track - 1], infos[i].live * p->state->infos[i].bytes);
        infos[i].live = 0;
    }
    for (uint32_t i = s->firsts[place - 1]; i; i = s->holds[i - 1].next) {
        struct heap_hold *hold = &s->holds[i - 1];

        if (hold->bytes)
            fall(s, &s->tracks[hold->group], hold->bytes);
        hold->bytes = 0;
    }
}

static void end_processes(struct heap_series *s, uint64_t time_ns)
{
    while (s->ended < s->end_count && s->ends[s->ended]->end_ns < time_ns)
        drop(s, s->ends[s->ended++]);
    s->next_end_ns = s->ended < s->end_count ? s->ends[s->ended]->end_ns : UINT64_MAX;
}

static uint32_t group_of(const struct heap_series *s, uint64_t stack)
{
    return s->groups[stack <= s->heap->frames->stack_count ? stack : 0];
}

static void take_sampled(struct heap_series *s, const struct heap_change *c)
{
    uint32_t group = group_of(s, c->stack), place = hold_of(s, c->place, group);
    struct heap_hold *hold = &s->holds[place];
    uint64_t bytes = c->freed && hold->bytes < c->bytes ? hold->bytes : c->bytes;

    if (c->freed)
        fall(s, track_of(s, group), bytes);
    else
        rise(s, track_of(s, group), bytes);
    hold->bytes += c->freed ? 0 - bytes : bytes;
}

static void take_exact(struct heap_series *s, const struct heap_change *c,
                       struct heap_series_info *info)
{
    if (!info->track) {
        info->track = 1 + group_of(s, c->stack);
        track_of(s, info->track - 1);
    }
    if (c->freed) {
        info->live--;
        fall(s, &s->tracks[info->track - 1], c->bytes);
    } else {
        info->live++;
        rise(s, &s->tracks[info->track - 1], c->bytes);
    }
}

static void take(void *context, const struct heap_change *c)
{
    struct heap_series *s = context;
    struct heap_series_info *info = &s->infos[c->place - 1][c->info];

    if (c->info && c->freed && !info->live)
        return;
    if (c->time_ns != s->time_ns) { /* many events have the same */
        if (c->time_ns > s->to_ns)
            return;
        if (c->time_ns > s->next_end_ns)
            end_processes(s, c->time_ns);
        set_time(s, c->time_ns);
    }
    if (c->info)
        take_exact(s, c, info);
    else
        take_sampled(s, c);
}

void heap_series_want(struct heap_series *s, struct heap *h, uint64_t last_ns,
                      const uint32_t *groups, uint32_t count)
{
    uint64_t to = h->options.to_ns && h->options.to_ns < last_ns ? h->options.to_ns : last_ns;

    *s = (struct heap_series){.heap = h, .groups = groups, .count = count, .to_ns = to};
    s->from_ns = h->options.from_ns < to ? h->options.from_ns : to;
    s->step_ns = (to - s->from_ns) / HEAP_SERIES_STEPS + 1;
    s->tracks = arena_alloc(h->arena, (count + 1) * sizeof(struct heap_track));
    s->all = &s->tracks[count];
    s->ends = arena_alloc(h->arena, (h->process_count + 1) * sizeof(struct heap_process *));
    s->infos = memory_zeroed((h->process_count + 1) * sizeof(struct heap_series_info *));
    s->firsts = memory_zeroed((h->process_count + 1) * sizeof(*s->firsts));
    s->time_ns = UINT64_MAX;
    for (size_t n = 0; n < h->process_count; n++) {
        s->infos[n] = memory_zeroed((h->processes[n]->state->info_count + 1) *
                                    sizeof(struct heap_series_info));
        if (h->processes[n]->end_ns != UINT64_MAX)
            s->ends[s->end_count++] = h->processes[n];
    }
    memory_sort(s->ends, s->end_count, sizeof(struct heap_process *), by_end);
    heap_replay_add(h->replay, take, s, UINT64_MAX);
}

void heap_series_end(struct heap_series *s)
{
    end_processes(s, s->to_ns);
    for (uint32_t i = 0; i <= s->count; i++)
        if (s->tracks[i].high)
            move_to(&s->tracks[i], HEAP_SERIES_STEPS); /* what it stands in, too */
    for (size_t n = 0; n < s->heap->process_count; n++)
        free(s->infos[n]);
    free(s->infos);
    intmap_free(&s->places);
    free(s->holds);
    free(s->firsts);
    s->firsts = NULL;
    s->holds = NULL;
    s->infos = NULL;
}

/* One sample may stand for more than ever lived, and processes are not quite in step: no more is
 * told than the peak.
 */
static void bound(const struct heap_series *s, struct heap_track *t)
{
    for (int i = 0; i < HEAP_SERIES_STEPS; i++)
        if (t->high[i] > s->heap->peak.bytes)
            t->high[i] = s->heap->peak.bytes;
}

const struct table_series *heap_series_of(const struct heap_series *s, uint32_t group)
{
    struct table_series *out;

    if (!s->tracks || !s->tracks[group].high)
        return NULL;
    bound(s, &s->tracks[group]);
    out = arena_alloc(s->heap->arena, sizeof(*out));
    *out = (struct table_series){s->from_ns, s->step_ns, HEAP_SERIES_STEPS, s->tracks[group].high};
    return out;
}
