/* heap_edges - see heap_edges.h. A segment is the time between two places that may become edges: a
 * part ends, or something has a name. heap_segments finds what stands out in it.
 */
#include "model/heap_edges.h"

#include "base/memory.h"
#include "model/batches.h"
#include "model/heap_edges_pass.h"
#include "model/heap_pass.h"

#include <stdlib.h>
#include <string.h>

#define NAMED_MOST 160
#define REGIONS_MOST 32
#define STEPS_MOST 64 /* in all of the time: those that follow too soon are no edges */
#define FINE_NAMED_MOST 100
#define OWN_MOST 64
#define OWN_LEAST 0.02 /* of the peak of all */

/* ---- levels ---- */

static void note_level(struct heap_edges *g)
{
    struct heap_edges_pass *s = g->pass;
    struct heap_edge now = heap_edges_here(s, s->now_ns);

    if (s->binned) {
        g->high_ns[s->bin] = s->total > g->high[s->bin] ? s->now_ns : g->high_ns[s->bin];
        g->high[s->bin] = s->total > g->high[s->bin] ? s->total : g->high[s->bin];
        g->low[s->bin] = s->total < g->low[s->bin] ? s->total : g->low[s->bin];
    }
    heap_segments_level(&s->coarse, &now);
    if (g->finer)
        heap_segments_level(&s->fine, &now);
}

/* ---- events ---- */

static struct heap_edges_own *own_of(struct heap_edges_pass *s, uint32_t place)
{
    memory_fit_zeroed(s->own, s->own_room, (size_t)place + 1);
    return &s->own[place];
}

static void change(struct heap_edges *g, struct heap_edges_own *p, uint64_t more, uint64_t less)
{
    struct heap_edges_pass *s = g->pass;

    p->live += more - less;
    s->total += more - less;
    note_level(g);
    if (p->live > p->most) {
        p->most = p->live;
        p->after = s->after;
        p->time_ns = s->now_ns;
        p->total = s->total;
    }
}

static void die(struct heap_edges *g, struct heap_edges_own *p)
{
    if (p->room)
        memset(p->blocks, 0, p->room * sizeof(*p->blocks));
    p->ended = true;
    change(g, p, 0, p->live);
}

struct band { /* levels of all processes that nothing is to be noted of */
    uint64_t low, high;
};

static void narrow(struct band *b, const struct heap_segments *c)
{
    uint64_t low = c->low.any ? c->low.edge.bytes : UINT64_MAX;
    uint64_t high = c->after.any ? c->after.edge.bytes : 0;

    b->low = low > b->low ? low : b->low;
    b->high = high < b->high ? high : b->high;
}

static struct band band_of(const struct heap_edges *g)
{
    const struct heap_edges_pass *s = g->pass;
    struct band b = {s->binned ? g->low[s->bin] : 0, s->binned ? g->high[s->bin] : UINT64_MAX};

    narrow(&b, &s->coarse);
    if (g->finer)
        narrow(&b, &s->fine);
    return b;
}

/* Does a block of that size come and go with nothing to be noted? Most do, one after the other. */
static inline bool is_brief(const struct band *b, uint64_t total, const struct heap_edges_own *p,
                            uint64_t bytes)
{
    return total >= b->low && total + bytes <= b->high && p->live + bytes <= p->most;
}

/* What one event of a known size changes; false: it frees what does not live. */
static inline bool count_block(struct heap_edges_own *p, uint32_t info, unsigned int op)
{
    if (info >= p->room)
        memory_fit_zeroed(p->blocks, p->room, (size_t)info + 1);
    if (op == BATCH_FREE && !p->blocks[info])
        return false;
    p->blocks[info] += op == BATCH_FREE ? UINT32_MAX : 1;
    return true;
}

static void take_run(struct heap_edges *g, struct heap_edges_own *p,
                     const struct heap_order_event *e)
{
    struct heap_edges_pass *s = g->pass;
    const struct heap_state *state = e->process->state;
    const struct batch_item *end = e->items + e->count;
    struct band band = band_of(g);

    for (const struct batch_item *b = e->items; b < end; b++) {
        uint32_t info = heap_info_known(state, b->info);
        uint64_t bytes = info ? state->infos[info].bytes : 0, change_of;

        if (b + 1 < end && b->op == BATCH_ALLOC && b[1].op == BATCH_FREE && b->info == b[1].info &&
            is_brief(&band, s->total, p, bytes)) {
            b++;
            continue;
        }
        if (!info || !count_block(p, info, b->op))
            continue;
        change_of = b->op == BATCH_FREE ? 0 - bytes : bytes;
        if (s->total + change_of >= band.low && s->total + change_of <= band.high &&
            p->live + change_of <= p->most) {
            s->total += change_of;
            p->live += change_of;
            continue;
        }
        s->after = e->ordinal - (uint64_t)(end - b - 1);
        change(g, p, change_of, 0);
        band = band_of(g);
    }
    s->after = e->ordinal;
}

/* ---- courses ---- */

struct coursing { /* events of a course, one by one */
    struct heap_edges *edges;
    struct heap_edges_own *own;
    const struct heap_order_event *e;
    size_t seen; /* of its record */
};

static void take_part(void *context, const struct batches_run *part)
{
    struct coursing *c = context;
    size_t first = c->e->course->first, last = first + c->e->count;
    size_t from = c->seen < first ? first - c->seen : 0;
    size_t to = last > c->seen ? last - c->seen : 0;
    size_t count = part->count;
    struct heap_order_event run = *c->e;

    to = to < count ? to : count;
    c->seen += count;
    if (from >= to)
        return;
    run.items = part->items + from;
    run.count = to - from;
    run.ordinal = c->e->ordinal - (last - (c->seen - count + to));
    take_run(c->edges, c->own, &run);
}

static void take_level(struct heap_edges *g, struct heap_edges_own *p, uint64_t before,
                       const struct heap_course_level *level, uint64_t *now)
{
    if (!level->at)
        return;
    g->pass->after = before + level->at;
    change(g, p, level->bytes - *now, 0);
    *now = level->bytes;
}

/* The heap has counted what lives up to the end of a process: what comes after it is looked at. */
static void take_course(struct heap_edges *g, struct heap_edges_own *p,
                        const struct heap_order_event *e)
{
    const struct heap_course *c = e->course;
    uint64_t now = 0, before = e->ordinal - e->count;

    if (p->ended) {
        struct coursing each = {g, p, e, 0};

        batches_each(e->record, take_part, &each);
        return;
    }
    take_level(g, p, before, &c->before, &now);
    take_level(g, p, before, &c->low, &now);
    take_level(g, p, before, &c->after, &now);
    p->live += c->end - now;
    g->pass->total += c->end - now;
    g->pass->after = e->ordinal;
}

/* ---- what has a name ---- */

/* Steps that follow too soon are no edges. */
static bool is_apart(uint64_t now_ns, uint64_t *step_ns, uint64_t span_ns)
{
    if (*step_ns && now_ns - *step_ns < span_ns / STEPS_MOST)
        return false;
    *step_ns = now_ns;
    return true;
}

static bool has_name(const struct trace_event *ev)
{
    return ev->kind != TRACE_MARK || ev->mark.mark_kind == TRACE_MARK_MOMENT ||
           ev->mark.mark_kind == TRACE_MARK_SNAPSHOT || ev->mark.mark_kind == TRACE_MARK_FINALIZING;
}

/* Is it an edge? Of many steps, those that are far enough apart. */
static bool is_named(struct heap_edges *g, const struct trace_event *ev)
{
    struct heap_edges_pass *s = g->pass;

    if (s->named == NAMED_MOST)
        return false;
    if (ev->kind == TRACE_REGION || ev->kind == TRACE_REGION_END)
        return (ev->kind == TRACE_REGION ? s->regions++ : s->regions) < REGIONS_MOST;
    if (ev->mark.mark_kind == TRACE_MARK_STEP)
        return is_apart(s->now_ns, &s->step_ns, g->last_ns);
    return has_name(ev);
}

/* Is it one at least in the stretch that is told finer? */
static bool is_fine_named(struct heap_edges *g, const struct trace_event *ev)
{
    struct heap_edges_pass *s = g->pass;

    if (s->now_ns < g->from_ns || s->now_ns > g->to_ns || s->fine_named == FINE_NAMED_MOST)
        return false;
    if (ev->kind == TRACE_MARK && ev->mark.mark_kind == TRACE_MARK_STEP)
        return is_apart(s->now_ns, &s->fine_step_ns, g->to_ns - g->from_ns);
    return has_name(ev);
}

static void take_noted(struct heap_edges *g, const struct trace_event *ev)
{
    struct heap_edges_pass *s = g->pass;
    struct heap_edge now = heap_edges_here(s, s->now_ns);
    bool named = is_named(g, ev), fine = g->finer && !named && is_fine_named(g, ev);

    s->named += named;
    s->fine_named += fine;
    if (named)
        heap_segments_named(&s->coarse, &now);
    if (g->finer && (named || fine))
        heap_segments_named(&s->fine, &now);
}

static void take(void *context, const struct heap_order_event *e)
{
    struct heap_edges *g = context;
    struct heap_edges_own *p = e->place ? own_of(g->pass, e->place) : NULL;

    heap_edges_move(g, e->time_ns);
    if (e->kind == HEAP_ORDER_NOTED) {
        take_noted(g, e->record);
        return;
    }
    if (!p)
        return;
    g->any = true;
    g->pass->after = e->ordinal;
    if (e->kind == HEAP_ORDER_ENDED)
        die(g, p);
    else if (e->kind == HEAP_ORDER_MAPPED)
        change(g, p, e->change->change.bytes, 0);
    else if (e->kind == HEAP_ORDER_UNMAPPED)
        change(g, p, 0, e->change->change.bytes);
    else if (e->kind == HEAP_ORDER_SAMPLED)
        change(g, p, e->block->amount.bytes, 0);
    else if (e->kind == HEAP_ORDER_RELEASED)
        change(g, p, 0, e->block->amount.bytes);
    else if (e->kind == HEAP_ORDER_COURSE)
        take_course(g, p, e);
    else
        take_run(g, p, e);
}

/* ---- the whole ---- */

void heap_edges_start(struct heap_edges *g, struct heap *h, uint64_t last_ns, uint64_t from_ns,
                      uint64_t to_ns)
{
    memset(g, 0, sizeof(*g));
    g->last_ns = last_ns;
    g->finer = to_ns > from_ns && from_ns < last_ns;
    g->from_ns = g->finer ? from_ns : 0;
    g->to_ns = g->finer && to_ns < last_ns ? to_ns : last_ns;
    g->pass = memory_zeroed(sizeof(*g->pass));
    heap_order_start(&g->order, h, last_ns, take, g);
    g->order.coursed = true;
}

void heap_edges_record(void *edges, const struct trace_event *ev)
{
    heap_order_record(&((struct heap_edges *)edges)->order, ev);
}

static int by_most(const void *left, const void *right)
{
    const struct heap_edges_own *a = left, *b = right;

    return a->most < b->most ? 1 : a->most > b->most ? -1 : 0;
}

/* The peaks of processes of their own: the largest. */
static void add_own(struct heap_edges_pass *s)
{
    uint64_t most = 0;
    int count = 0, own = 0;

    for (size_t i = 0; i < s->coarse.count; i++)
        most = s->coarse.list[i].bytes > most ? s->coarse.list[i].bytes : most;
    for (size_t i = 0; i < s->own_room; i++)
        own += s->own[i].most > 0;
    memory_sort(s->own, s->own_room, sizeof(*s->own), by_most);
    for (size_t i = 0; own > 1 && i < s->own_room && count < OWN_MOST; i++) {
        const struct heap_edges_own *p = &s->own[i];
        struct heap_edge e = {p->after, p->time_ns, p->total, HEAP_EDGE_OWN};

        if ((double)p->most <= (double)most * OWN_LEAST)
            break;
        heap_segments_add(&s->coarse, &e);
        count++;
    }
}

/* The grid without a finer stretch; and with it, which has all its edges. */
static void settle(struct heap_edges *g)
{
    struct heap_edges_pass *s = g->pass;

    for (size_t i = 0; g->finer && i < s->coarse.count; i++)
        heap_segments_add(&s->fine, &s->coarse.list[i]);
    g->coarse_count = heap_segments_settle(s->coarse.list, s->coarse.count, g->coarse,
                                           HEAP_EDGES_COARSE);
    if (g->finer) {
        g->count = heap_segments_settle(s->fine.list, s->fine.count, g->list, HEAP_EDGES_MOST);
        return;
    }
    memcpy(g->list, g->coarse, (size_t)g->coarse_count * sizeof(*g->list));
    g->count = g->coarse_count;
}

static void end_cuts(struct heap_edges *g)
{
    struct heap_edges_pass *s = g->pass;
    struct heap_edge last;

    heap_edges_move(g, g->last_ns);
    last = heap_edges_here(s, s->now_ns);
    heap_segments_named(&s->coarse, &last);
    if (g->finer)
        heap_segments_named(&s->fine, &last);
    for (; s->bin < HEAP_EDGES_BINS; s->bin++, s->binned = false)
        heap_edges_fill_bin(g);
}

void heap_edges_end(struct heap_edges *g)
{
    struct heap_edges_pass *s = g->pass;

    heap_order_flush(&g->order);
    heap_order_free(&g->order);
    end_cuts(g);
    add_own(s);
    settle(g);
    for (size_t i = 0; i < s->own_room; i++)
        free(s->own[i].blocks);
    free(s->own);
    free(s->coarse.list);
    free(s->fine.list);
    free(s);
    g->pass = NULL;
}
