/* heap_cut - what lived at one moment, from the events again: those of each process up to one of
 * them, or up to a time.
 */
#include "model/heap_pass.h"
#include "model/heap_replay.h"

#include "base/memory.h"

#include <stdlib.h>

struct heap_cut {
    struct heap *heap;
    enum heap_moment moment;
    uint64_t time_ns;
    struct heap_cut *next;
    struct heap_cut_of { /* by place of the process */
        uint64_t events; /* so many of them; UINT64_MAX: all up to time_ns */
        uint64_t *live;  /* by number of the info */
    } * of;
    struct heap_amount *sampled; /* by place of the entry */
    size_t sampled_count;        /* those that were there when the trace was read first */
};

/* Of what was sampled or mapped. */
static bool is_before(const struct heap_cut *c, const struct heap_change *e)
{
    uint64_t events = c->of[e->place - 1].events;

    if (events != UINT64_MAX)
        return e->number < events;
    return e->time_ns <= c->time_ns && !(e->freed && e->born_ns > c->time_ns);
}

static void take(void *context, const struct heap_change *e)
{
    struct heap_cut *c = context;

    if (!is_before(c, e) || e->entry >= c->sampled_count)
        return;
    if (e->freed)
        heap_subtract(&c->sampled[e->entry], &e->amount);
    else
        heap_add(&c->sampled[e->entry], &e->amount);
}

/* How many of so many events of one time are before it? */
static size_t count_before(const struct heap_cut *c, const struct heap_change *e, size_t count)
{
    uint64_t events = c->of[e->place - 1].events;

    if (events == UINT64_MAX)
        return e->time_ns <= c->time_ns ? count : 0;
    if (e->number >= events)
        return 0;
    return events - e->number < count ? (size_t)(events - e->number) : count;
}

static void take_run(void *context, const struct heap_change *e, const struct batch_item *items,
                     size_t count)
{
    const struct heap_cut *c = context;
    const struct heap_state *s = e->process->state;
    const struct batch_item *end = items + count_before(c, e, count);
    uint64_t *live = c->of[e->place - 1].live;

    for (const struct batch_item *i = items; i < end; i++) {
        uint32_t place = heap_info_known(s, i->info);

        if (i + HEAP_AHEAD < end && i[HEAP_AHEAD].info <= s->info_count)
            __builtin_prefetch(&live[i[HEAP_AHEAD].info], 1);
        if (place && i->op != BATCH_FREE)
            live[place]++;
        else if (place)
            live[place] -= live[place] != 0;
    }
}

/* Which events of each process come before the peak of all, or before a time: of one that has ended
 * by then, none.
 */
static void set_events(struct heap_cut *c)
{
    const struct heap *h = c->heap;

    for (size_t i = 0; i < h->process_count; i++) {
        c->of[i].events = h->processes[i]->end_ns < c->time_ns ? 0 : UINT64_MAX;
        if (c->moment == HEAP_AT_PEAK)
            c->of[i].events = heap_together_events(h, h->processes[i]);
        c->of[i].live = memory_zeroed((h->processes[i]->state->info_count + 1) * sizeof(uint64_t));
    }
}

struct heap_cut *heap_cut_add(struct heap *h, enum heap_moment moment, uint64_t time_ns)
{
    struct heap_cut *c = memory_zeroed(sizeof(*c));
    uint64_t until_ns;

    *c = (struct heap_cut){.heap = h, .moment = moment, .next = h->pass->cuts};
    c->time_ns = moment == HEAP_AT_PEAK ? h->peak_ns : time_ns;
    c->of = memory_zeroed((h->process_count + 1) * sizeof(*c->of));
    c->sampled_count = h->pass->sampled_count;
    c->sampled = memory_zeroed((c->sampled_count + 1) * sizeof(*c->sampled));
    set_events(c);
    h->pass->cuts = c;
    until_ns = c->time_ns > UINT64_MAX - TRACE_BATCH_SPAN_MOST ? UINT64_MAX
                                                               : c->time_ns + TRACE_BATCH_SPAN_MOST;
    heap_replay_add_runs(h->replay, take, take_run, c, until_ns);
    return c;
}

struct heap_cut *heap_cut_find(const struct heap *h, enum heap_moment moment, uint64_t time_ns)
{
    for (struct heap_cut *c = h->pass->cuts; c; c = c->next)
        if (c->moment == moment && (moment == HEAP_AT_PEAK || c->time_ns == time_ns))
            return c;
    return NULL;
}

void heap_cut_at(const struct heap_cut *c)
{
    const struct heap *h = c->heap;

    for (size_t n = 0; n < h->process_count; n++) {
        struct heap_state *s = h->processes[n]->state;
        uint64_t *at = heap_state_at(s);

        for (size_t i = 1; i <= s->info_count; i++)
            at[i] = c->of[n].live[i];
    }
    for (size_t i = 0; i < h->pass->sampled_count; i++)
        h->pass->sampled[i].at = i < c->sampled_count ? c->sampled[i] : (struct heap_amount){0};
}

void heap_cuts_free(struct heap *h)
{
    struct heap_cut *next;

    for (struct heap_cut *c = h->pass->cuts; c; c = next) {
        next = c->next;
        for (size_t i = 0; i < h->process_count; i++)
            free(c->of[i].live);
        free(c->of);
        free(c->sampled);
        free(c);
    }
    h->pass->cuts = NULL;
}
