/* heap_at - what lived at one moment, by stack and size: the peak of one process, the end and the
 * last work are known when a trace was read once; the others are cut out of its events
 * (heap_cut.c).
 */
#include "model/heap_pass.h"

#include "base/memory.h"

#include <string.h>

static bool takes_cut(const struct heap *h, enum heap_moment moment)
{
    return moment == HEAP_AT_TIME || (moment == HEAP_AT_PEAK && h->process_count > 1);
}

void heap_want(struct heap *h, enum heap_moment moment, uint64_t time_ns)
{
    if (takes_cut(h, moment) && !heap_cut_find(h, moment, time_ns))
        heap_cut_add(h, moment, time_ns);
}

bool heap_wants(const struct heap *h, enum heap_moment moment)
{
    return heap_cut_find(h, moment, 0) != NULL;
}

/* Infos are not added any more. */
uint64_t *heap_state_at(struct heap_state *s)
{
    if (!s->at)
        s->at = memory_zeroed((s->info_count + 1) * sizeof(*s->at));
    return s->at;
}

static void at_end(struct heap *h)
{
    for (size_t n = 0; n < h->process_count; n++) {
        struct heap_state *s = h->processes[n]->state;
        uint64_t *at = heap_state_at(s);

        for (size_t i = 1; i <= s->info_count; i++)
            at[i] = s->infos[i].live;
    }
    for (size_t i = 0; i < h->pass->sampled_count; i++)
        h->pass->sampled[i].at = h->pass->sampled[i].sums.live;
}

static void at_own_peak(struct heap *h)
{
    for (size_t n = 0; n < h->process_count; n++) {
        struct heap_state *s = h->processes[n]->state;
        uint64_t *at = heap_state_at(s);

        for (size_t i = 1; i <= s->info_count; i++)
            at[i] = heap_info_peak(s, &s->infos[i]);
    }
    for (size_t i = 0; i < h->pass->sampled_count; i++) {
        struct heap_sampled *e = &h->pass->sampled[i];

        e->at = *heap_sampled_peak(h->processes[e->process - 1]->state, e);
    }
}

static void move_to(struct heap *h, enum heap_moment moment, uint64_t time_ns)
{
    const struct heap_cut *cut = heap_cut_find(h, moment, time_ns);

    if (takes_cut(h, moment) && cut)
        heap_cut_at(cut);
    else if (moment == HEAP_AT_PEAK)
        at_own_peak(h);
    else if (moment == HEAP_AT_WORKED)
        heap_worked_at(h);
    else
        at_end(h);
}

/* The peak that no estimate is above; 0: nobody knows. */
static uint64_t bound_of(struct heap *h)
{
    bool cut = takes_cut(h, HEAP_AT_PEAK);

    if (!h->sampled || (cut && !heap_wants(h, HEAP_AT_PEAK)))
        return 0;
    if (cut && !h->peak.bytes)
        heap_at(h, HEAP_AT_PEAK, 0);
    return h->peak.bytes;
}

void heap_want_levels(struct heap *h)
{
    if (h->sampled)
        heap_want(h, HEAP_AT_PEAK, 0);
}

void heap_want_bounded(struct heap *h)
{
    heap_want_levels(h);
    h->pass->bounded = true;
}

uint64_t heap_level(struct heap *h, uint64_t bytes)
{
    uint64_t most = bound_of(h);

    return most && bytes > most ? most : bytes;
}

/* What `at` is no more than; 0: nobody knows. */
static uint64_t most_at(struct heap *h, enum heap_moment moment)
{
    if (moment == HEAP_AT_PEAK)
        return h->pass->peak_most;
    return moment == HEAP_AT_TIME && h->pass->bounded ? bound_of(h) : 0;
}

/* `at` within what is known otherwise: `most`, where it is any, and no less than any process held.
 */
static void bound(struct heap *h, enum heap_moment moment, uint64_t most)
{
    struct heap_pass *s = h->pass;
    bool common = moment == HEAP_AT_PEAK && h->process_count > 1;
    uint64_t is = s->at_sum.bytes, least = common ? heap_twin_least(h) : 0;
    uint64_t to = most && is > most ? most : is < least ? least : is;

    if (to == is)
        return;
    heap_twin_move(h, is, to);
    s->at_sum = heap_fold_at(h);
}

struct heap_amount heap_at(struct heap *h, enum heap_moment moment, uint64_t time_ns)
{
    struct heap_pass *s = h->pass;
    uint64_t most;

    if (s->at_known && s->at == moment && (moment != HEAP_AT_TIME || s->at_ns == time_ns))
        return s->at_sum;
    most = most_at(h, moment);
    move_to(h, moment, time_ns);
    if (moment == HEAP_AT_PEAK)
        heap_twin_at_peak(h);
    s->at = moment;
    s->at_ns = time_ns;
    s->at_known = true;
    s->at_sum = heap_fold_at(h);
    bound(h, moment, most);
    if (moment == HEAP_AT_PEAK) {
        h->peak = s->at_sum;
        memcpy(h->peak_memory, h->at_memory, sizeof(h->peak_memory));
    }
    return s->at_sum;
}

void heap_at_forget(struct heap *h)
{
    h->pass->at_known = false;
}

static enum heap_moment asked(const struct heap *h, enum heap_moment standard)
{
    switch (h->options.at) {
    case SELECTION_AT_PEAK:
        return HEAP_AT_PEAK;
    case SELECTION_AT_END:
        return HEAP_AT_END;
    case SELECTION_AT_TIME:
        return HEAP_AT_TIME;
    case SELECTION_AT_DEFAULT:
        break;
    }
    return standard;
}

void heap_want_asked(struct heap *h, enum heap_moment standard)
{
    heap_want(h, asked(h, standard), h->options.at_ns);
}

struct heap_amount heap_at_asked(struct heap *h, enum heap_moment standard)
{
    return heap_at(h, asked(h, standard), h->options.at_ns);
}

bool heap_live_between(const struct heap *h, uint64_t from_ns, uint64_t to_ns, uint64_t *bytes)
{
    const struct heap_grid *g = h->grid;
    size_t first = (size_t)(from_ns / g->step_ns), last = (size_t)(to_ns / g->step_ns);

    if (!g->count)
        return false;
    *bytes = 0;
    first = first < g->count ? first : g->count - 1;
    last = last < g->count ? last : g->count - 1;
    for (size_t i = first; i <= last; i++)
        if (g->steps[i].high > *bytes)
            *bytes = g->steps[i].high;
    return true;
}
