/* heap_growth - see heap_growth.h. */
#include "model/heap_growth.h"

#include "base/memory.h"
#include "base/text.h"
#include "model/heap_pass.h"
#include "model/heap_replay.h"

#include <stdlib.h>
#include <string.h>

/* Of ten stacks nine allocate once what they hold, and there may be a million of them. */
struct heap_held {
    uint32_t process, next; /* 1 + places: in heap.processes, and of the stack's next hold */
    uint32_t wide;          /* the same of what came later, in wides; 0: this one block is all */
    uint64_t from_ns, bytes;
};

struct heap_wide {
    struct heap_curve curve;
    struct heap_births births;
};

static uint64_t end_of(const struct heap *h, const struct heap_process *p)
{
    uint64_t last = h->run->last_ns > p->to_ns ? h->run->last_ns : p->to_ns;

    if (p->worked_ns)
        return p->worked_ns;
    return p->end_ns != UINT64_MAX ? p->end_ns : last;
}

/* The last window is as long as the others or shorter by a few ns. */
static struct heap_span span_of(const struct heap *h, const struct heap_process *p)
{
    uint64_t end = end_of(h, p), from = p->from_ns < end ? p->from_ns : end;

    return (struct heap_span){from, end,
                              end > from ? (end - from - 1) / HEAP_BIRTHS_WINDOWS + 1 : 1};
}

/* Its hold on a stack; NULL: nobody asks about that stack. */
static struct heap_held *held_of(struct heap_growth *g, uint64_t process, uint64_t stack)
{
    uint64_t key = process << 32 | stack, at;
    uint32_t place;

    if (intmap_get(&g->places, key, &at))
        return &g->holds[at];
    place = heap_stack_place(g->heap, stack);
    if (!place-- || !g->follows[place])
        return NULL;
    memory_fit(g->holds, g->room, g->count + 1);
    intmap_put(&g->places, key, g->count);
    g->holds[g->count] = (struct heap_held){.process = (uint32_t)process, .next = g->firsts[place]};
    g->firsts[place] = (uint32_t)g->count + 1;
    return &g->holds[g->count++];
}

/* The same for a change; that of an info is looked up once. */
static struct heap_held *held_for(struct heap_growth *g, const struct heap_change *c)
{
    uint32_t *known = &g->infos[c->place - 1][c->info];
    struct heap_held *h;

    if (c->info && *known)
        return *known == UINT32_MAX ? NULL : &g->holds[*known - 1];
    h = held_of(g, c->place, c->stack);
    *known = h ? (uint32_t)(h - g->holds) + 1 : UINT32_MAX;
    return h;
}

/* There may be more than one block from here on. */
static struct heap_wide *widen(struct heap_growth *g, struct heap_held *h,
                               const struct heap_span *span)
{
    struct heap_wide *w;

    if (h->wide)
        return &g->wides[h->wide - 1];
    memory_extend(g->wides, g->wide_room, g->wide_count, g->wide_count + 1);
    h->wide = (uint32_t)++g->wide_count;
    w = &g->wides[h->wide - 1];
    if (h->bytes) {
        heap_curve_add(&w->curve, h->from_ns, h->bytes);
        heap_births_add(&w->births, span, h->from_ns, h->bytes);
    }
    return w;
}

static void change_wide(struct heap_wide *w, const struct heap_span *span,
                        const struct heap_change *c)
{
    uint64_t born_from, born_to;

    if (c->freed) {
        heap_curve_remove(&w->curve, c->time_ns, c->bytes);
        heap_replay_born(c, &born_from, &born_to);
        heap_births_remove(&w->births, span, born_from, born_to, c->bytes);
        return;
    }
    heap_curve_add(&w->curve, c->time_ns, c->bytes);
    if (c->revived)
        heap_births_restore(&w->births, c->bytes);
    else
        heap_births_add(&w->births, span, c->time_ns, c->bytes);
}

static void change(void *context, const struct heap_change *c)
{
    struct heap_growth *g = context;
    const struct heap_span *span = &g->spans[c->place - 1];
    struct heap_held *h;

    if (c->process->execed || (c->process->worked_ns && c->time_ns >= c->process->worked_ns))
        return;
    h = held_for(g, c);
    if (!h)
        return;
    if (h->wide || h->bytes || c->freed || c->revived || !c->bytes) {
        change_wide(widen(g, h, span), span, c);
        return;
    }
    h->from_ns = c->time_ns;
    h->bytes = c->bytes;
}

/* What it holds at a time; not exact to more than a step of its curve. */
static uint64_t held_at(const struct heap_growth *g, const struct heap_held *h, uint64_t time_ns)
{
    if (h->wide)
        return heap_curve_at(&g->wides[h->wide - 1].curve, time_ns);
    return time_ns < h->from_ns ? 0 : h->bytes;
}

static uint64_t held_from(const struct heap_growth *g, const struct heap_held *h)
{
    return h->wide ? g->wides[h->wide - 1].curve.from_ns : h->from_ns;
}

/* Of a stack that nobody asks about, nothing is held. */
static bool wants(void *context, const struct heap_process *p, uint64_t stack)
{
    const struct heap_growth *g = context;
    uint32_t place = heap_stack_place(g->heap, stack);

    return !p->execed && place && g->follows[place - 1];
}

static void take_phase(void *context, const struct trace_event *ev)
{
    struct heap_growth *g = context;

    heap_phases_take(&g->phases, g->heap, ev);
}

void heap_growth_want(struct heap_growth *g, struct recorded *r, bool all)
{
    struct heap *h = &r->heap;

    *g = (struct heap_growth){.heap = h};
    g->follows = memory_zeroed(h->stack_count + 1);
    for (size_t i = 0; i < h->stack_count; i++)
        g->follows[i] = all || h->stacks[i].at.bytes;
    g->firsts = memory_zeroed((h->stack_count + 1) * sizeof(*g->firsts));
    g->sums = memory_zeroed((h->process_count + 1) * sizeof(*g->sums));
    g->spans = memory_zeroed((h->process_count + 1) * sizeof(*g->spans));
    g->infos = memory_zeroed((h->process_count + 1) * sizeof(uint32_t *));
    for (size_t i = 0; i < h->process_count; i++) {
        g->spans[i] = span_of(h, h->processes[i]);
        g->infos[i] = memory_zeroed((h->processes[i]->state->info_count + 1) * sizeof(uint32_t));
    }
    heap_replay_add_some(h->replay, change, wants, g, UINT64_MAX);
    recorded_take_again(r, take_phase, g, h->pass->to_ns);
}

void heap_growth_keep(const struct heap_growth *g)
{
    for (size_t i = 0; i < g->heap->stack_count; i++)
        if (!g->follows[i])
            heap_stack_at_set(g->heap, &g->heap->stacks[i], &(struct heap_amount){0});
    heap_at_forget(g->heap);
}

static void free_infos(struct heap_growth *g)
{
    for (size_t i = 0; g->infos && i < g->heap->process_count; i++)
        free(g->infos[i]);
    free(g->infos);
    g->infos = NULL;
}

typedef void visit_hold(const struct heap_growth *g, const struct heap_held *h, void *context);

static void each_hold(const struct heap_growth *g, const struct heap_row *row, visit_hold *visit,
                      void *context)
{
    for (uint32_t s = row->first; s; s = g->heap->stacks[s - 1].next)
        for (uint32_t i = g->firsts[s - 1]; i; i = g->holds[i - 1].next)
            visit(g, &g->holds[i - 1], context);
}

static void add_hold(const struct heap_growth *g, const struct heap_held *h, void *context)
{
    const struct heap_span *s = &g->spans[h->process - 1];
    struct heap_grown *out = context;

    out->quarter += held_at(g, h, s->to_ns - (s->to_ns - s->from_ns) / 4);
    g->sums[h->process - 1] += held_at(g, h, UINT64_MAX);
}

/* The process that holds most at the end. */
static void take_most(const struct heap_growth *g, const struct heap_held *h, void *context)
{
    struct heap_grown *out = context;
    uint64_t bytes = g->sums[h->process - 1];

    if (out->process && bytes <= out->bytes)
        return;
    out->process = g->heap->processes[h->process - 1];
    out->place = h->process;
    out->bytes = bytes;
    out->to_ns = g->spans[h->process - 1].to_ns;
    out->from_ns = out->to_ns;
}

static void clear(const struct heap_growth *g, const struct heap_held *h, void *context)
{
    struct heap_grown *out = context;

    g->sums[h->process - 1] = 0;
    if (h->process == out->place && held_from(g, h) < out->from_ns)
        out->from_ns = held_from(g, h);
}

bool heap_growth_of(const struct heap_growth *g, const struct heap_row *row, struct heap_grown *out)
{
    *out = (struct heap_grown){0};
    each_hold(g, row, add_hold, out);
    each_hold(g, row, take_most, out);
    each_hold(g, row, clear, out);
    return out->process != NULL;
}

struct moment { /* what one process holds then */
    uint32_t place;
    uint64_t time_ns, bytes;
};

static void add_moment(const struct heap_growth *g, const struct heap_held *h, void *context)
{
    struct moment *m = context;

    if (h->process == m->place)
        m->bytes += held_at(g, h, m->time_ns);
}

double heap_growth_at(const struct heap_growth *g, const struct heap_row *row,
                      const struct heap_grown *where, uint64_t time_ns)
{
    struct moment m = {where->place, time_ns, 0};

    each_hold(g, row, add_moment, &m);
    return (double)m.bytes;
}

void heap_growth_series(const struct heap_growth *g, const struct heap_row *row,
                        const struct heap_grown *where, uint64_t from_ns, uint64_t to_ns, double *y,
                        unsigned int count)
{
    double step = (double)(to_ns - from_ns) / count;

    for (unsigned int i = 0; i < count; i++)
        y[i] = heap_growth_at(g, row, where, from_ns + text_rounded(step * (i + 1)));
}

struct ages {
    struct heap_age *of;
    size_t count, room;
    uint64_t bytes;
};

static void add_ages(struct ages *all, const struct heap_growth *g, const struct heap_held *h)
{
    const struct heap_span *span = &g->spans[h->process - 1];
    struct heap_births alone = {0};
    size_t added;

    if (!h->wide)
        heap_births_add(&alone, span, h->from_ns, h->bytes);
    memory_fit(all->of, all->room, all->count + HEAP_BIRTHS_WINDOWS);
    added = heap_births_ages(h->wide ? &g->wides[h->wide - 1].births : &alone, span,
                             all->of + all->count);
    for (size_t i = 0; i < added; i++)
        all->bytes += all->of[all->count++].bytes;
}

static int older_first(const void *left, const void *right)
{
    const struct heap_age *l = left, *r = right;

    return l->middle_ns < r->middle_ns ? 1 : l->middle_ns > r->middle_ns ? -1 : 0;
}

static void find_ages(struct ages *all, struct heap_ages *out)
{
    uint64_t older = 0;

    memory_sort(all->of, all->count, sizeof(*all->of), older_first);
    for (size_t i = 0; i < all->count; i++) {
        if (all->of[i].oldest_ns > out->oldest_ns)
            out->oldest_ns = all->of[i].oldest_ns;
        if (older < all->bytes - all->bytes / 2)
            out->median_ns = all->of[i].middle_ns;
        older += all->of[i].bytes;
    }
}

bool heap_growth_ages(const struct heap_growth *g, const struct heap_row *row,
                      struct heap_ages *out)
{
    struct ages all = {0};

    *out = (struct heap_ages){0};
    for (uint32_t s = row->first; s; s = g->heap->stacks[s - 1].next)
        for (uint32_t i = g->firsts[s - 1]; i; i = g->holds[i - 1].next)
            add_ages(&all, g, &g->holds[i - 1]);
    if (all.count)
        find_ages(&all, out);
    free(all.of);
    return all.count > 0;
}

void heap_growth_free(struct heap_growth *g)
{
    intmap_free(&g->places);
    heap_phases_free(&g->phases);
    free(g->holds);
    free(g->wides);
    free_infos(g);
    free(g->follows);
    free(g->firsts);
    free(g->spans);
    free(g->sums);
}
