/* heap_growth - see heap_growth.h. The events are those that heap_at.c counts. */
#include "analyze/heap_growth.h"

#include "analyze/heap_pass.h"
#include "analyze/heap_replay.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define LAST (HEAP_GROWTH_POINTS - 1)
#define QUARTER (HEAP_GROWTH_POINTS * 3 / 4 - 1)

struct heap_held {
    uint32_t process, next; /* 1 + places: in heap.processes, and of the stack's next hold */
    unsigned int window;    /* that it stands in */
    uint64_t bytes[HEAP_GROWTH_POINTS];
    struct heap_births births;
};

static uint64_t end_of(const struct heap_process *p)
{
    if (p->worked_ns)
        return p->worked_ns;
    return p->end_ns != UINT64_MAX ? p->end_ns : p->to_ns;
}

/* The last window is as long as the others or shorter by a few ns. */
static struct heap_span span_of(const struct heap_process *p)
{
    uint64_t end = end_of(p), from = p->from_ns < end ? p->from_ns : end;

    return (struct heap_span){from, end,
                              end > from ? (end - from - 1) / HEAP_GROWTH_POINTS + 1 : 1};
}

/* Its hold on a stack; NULL: nobody asks about that stack. */
static struct heap_held *held_of(struct heap_growth *g, uint64_t process, uint64_t stack)
{
    uint64_t key = process << 32 | stack, place;

    if (intmap_get(&g->places, key, &place))
        return &g->holds[place];
    if (!intmap_get(&g->heap->pass->stack_places, stack, &place) ||
        !g->heap->stacks[place].at.bytes)
        return NULL;
    if (g->count == g->room) {
        g->room = g->room ? g->room * 2 : 64;
        g->holds = memory_resize(g->holds, g->room * sizeof(*g->holds));
    }
    intmap_put(&g->places, key, g->count);
    g->holds[g->count] = (struct heap_held){.process = (uint32_t)process, .next = g->firsts[place]};
    g->firsts[place] = (uint32_t)g->count + 1;
    return &g->holds[g->count++];
}

/* An event is of the window that it is in, or at the end of. */
static void move_to(struct heap_held *h, const struct heap_span *s, uint64_t time_ns)
{
    uint64_t past = time_ns > s->from_ns ? time_ns - s->from_ns - 1 : 0, window = past / s->step_ns;

    while (h->window < window && h->window < LAST) {
        h->bytes[h->window + 1] = h->bytes[h->window];
        h->window++;
    }
}

static void change(void *context, const struct heap_change *c)
{
    struct heap_growth *g = context;
    struct heap_held *h = held_of(g, c->place, c->stack);
    const struct heap_span *span = &g->spans[c->place - 1];
    uint64_t *now;

    if (!h)
        return;
    move_to(h, span, c->time_ns);
    now = &h->bytes[h->window];
    if (c->freed) {
        *now -= c->bytes < *now ? c->bytes : *now;
        heap_births_remove(&h->births, span, c->born_from_ns, c->born_to_ns, c->bytes);
    } else {
        *now += c->bytes;
        if (c->revived)
            heap_births_restore(&h->births, c->bytes);
        else
            heap_births_add(&h->births, span, c->time_ns, c->bytes);
    }
}

void heap_growth_read(struct heap_growth *g, struct heap *h, struct trace *t)
{
    struct heap_replay replay = {.heap = h, .cut = true, .take = change, .context = g};
    struct trace_event ev;

    *g = (struct heap_growth){.heap = h};
    g->firsts = memory_zeroed((h->stack_count + 1) * sizeof(*g->firsts));
    g->sums = memory_zeroed((h->process_count + 1) * HEAP_GROWTH_POINTS * sizeof(*g->sums));
    g->spans = memory_zeroed((h->process_count + 1) * sizeof(*g->spans));
    heap_worked(h, t);
    for (size_t i = 0; i < h->process_count; i++)
        g->spans[i] = span_of(h->processes[i]);
    trace_rewind(t, 0, UINT64_MAX);
    while (trace_next(t, &ev))
        heap_replay(&replay, &ev);
    heap_replay_end(&replay);
    for (size_t i = 0; i < g->count; i++)
        move_to(&g->holds[i], &g->spans[g->holds[i].process - 1], UINT64_MAX);
}

static uint64_t *sum_of(const struct heap_growth *g, uint32_t process)
{
    return g->sums + (size_t)(process - 1) * HEAP_GROWTH_POINTS;
}

static void each_hold(const struct heap_growth *g, const struct heap_row *row,
                      void (*visit)(const struct heap_growth *g, const struct heap_held *h,
                                    struct heap_grown *out),
                      struct heap_grown *out)
{
    for (uint32_t s = row->first; s; s = g->heap->stacks[s - 1].next)
        for (uint32_t i = g->firsts[s - 1]; i; i = g->holds[i - 1].next)
            visit(g, &g->holds[i - 1], out);
}

static void add_hold(const struct heap_growth *g, const struct heap_held *h, struct heap_grown *out)
{
    uint64_t *sum = sum_of(g, h->process);

    out->quarter += h->bytes[QUARTER];
    for (int i = 0; i < HEAP_GROWTH_POINTS; i++)
        sum[i] += h->bytes[i];
}

/* The process that holds most at the end. */
static void take_most(const struct heap_growth *g, const struct heap_held *h,
                      struct heap_grown *out)
{
    const uint64_t *sum = sum_of(g, h->process);

    if (out->step_ns && (double)sum[LAST] <= out->bytes[LAST])
        return;
    out->step_ns = g->spans[h->process - 1].step_ns;
    for (int i = 0; i < HEAP_GROWTH_POINTS; i++)
        out->bytes[i] = (double)sum[i];
}

static void clear(const struct heap_growth *g, const struct heap_held *h, struct heap_grown *out)
{
    (void)out;
    memset(sum_of(g, h->process), 0, HEAP_GROWTH_POINTS * sizeof(uint64_t));
}

bool heap_growth_of(const struct heap_growth *g, const struct heap_row *row, struct heap_grown *out)
{
    *out = (struct heap_grown){0};
    each_hold(g, row, add_hold, out);
    each_hold(g, row, take_most, out);
    each_hold(g, row, clear, out);
    return out->step_ns != 0;
}

struct ages {
    struct heap_age *of;
    size_t count, room;
    uint64_t bytes;
};

static void add_ages(struct ages *all, const struct heap_growth *g, const struct heap_held *h)
{
    size_t added;

    if (all->count + HEAP_BIRTHS_WINDOWS > all->room) {
        all->room = all->room * 2 + HEAP_BIRTHS_WINDOWS;
        all->of = memory_resize(all->of, all->room * sizeof(*all->of));
    }
    added = heap_births_ages(&h->births, &g->spans[h->process - 1], all->of + all->count);
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
    free(g->holds);
    free(g->firsts);
    free(g->spans);
    free(g->sums);
}
