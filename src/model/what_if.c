/* what_if - see what_if.h. */
#include "model/what_if.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define BIT(how) (1u << (how))
#define WHOLE 1000u /* per mille */

struct altered { /* a tensor, by several ideas */
    unsigned int hows, permille;
};

/* ---- when a tensor is not needed ---- */

static void add_gap(struct what_if *w, size_t i, size_t from, size_t to)
{
    const struct tensor_curve *c = &w->curve;
    struct what_if_stretches *g = &w->gaps;

    from = from > c->born[i] ? from : c->born[i];
    to = to < c->died[i] ? to : c->died[i];
    if (from >= to)
        return;
    memory_fit(g->list, g->room, g->count + 1);
    g->list[g->count++] = (struct what_if_stretch){from, to};
}

/* The ideas that a waste is a reason for. */
static unsigned int hows_of(const struct waste *x)
{
    switch (x->kind) {
    case WASTE_EARLY:
        return BIT(WHAT_IF_FIRST_USE) | BIT(WHAT_IF_AWAY);
    case WASTE_IDLE:
        return BIT(WHAT_IF_AGAIN) | BIT(WHAT_IF_AWAY);
    case WASTE_LATE:
    case WASTE_LONG:
    case WASTE_UNUSED:
        return BIT(x->by_uses ? WHAT_IF_LAST_USE : WHAT_IF_AFTER_STEP) | BIT(WHAT_IF_AWAY);
    default:
        return 0;
    }
}

static void gaps_of_activation(struct what_if *w, uint32_t i)
{
    const struct tensor *x = &w->tensors->list[i];
    const struct tensor_curve *c = &w->curve;

    if (c->died[i] < c->count)
        add_gap(w, i, tensor_curve_birth(c, w->tensors, x->place, x->number + 1) + 1,
                c->died[i] - 1);
}

/* Between the steps of its process's optimizers. */
static void gaps_of_state(struct what_if *w, uint32_t i)
{
    const struct what_if_stretches *s = &w->stepping[w->tensors->list[i].place - 1];
    size_t low = 0, high = s->count, from = w->curve.born[i];

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (s->list[middle].to <= from)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < s->count && s->list[low].from < w->curve.died[i]; low++) {
        add_gap(w, i, from, s->list[low].from);
        from = s->list[low].to;
    }
    add_gap(w, i, from, w->curve.died[i]);
}

static int by_place(const void *a, const void *b)
{
    const struct what_if_stretch *x = a, *y = b;

    return x->from < y->from ? -1 : x->from > y->from;
}

/* One after the other, none within another. */
static void merge_gaps(struct what_if_stretches *g)
{
    size_t kept = 0;
    bool sorted = true;

    for (size_t i = 1; i < g->count; i++)
        sorted &= g->list[i - 1].from <= g->list[i].from;
    if (!sorted)
        memory_sort(g->list, g->count, sizeof(*g->list), by_place);
    for (size_t i = 0; i < g->count; i++) {
        struct what_if_stretch *last = kept ? &g->list[kept - 1] : NULL;

        if (last && g->list[i].from <= last->to)
            last->to = g->list[i].to > last->to ? g->list[i].to : last->to;
        else
            g->list[kept++] = g->list[i];
    }
    g->count = kept;
}

static void find_gaps(struct what_if *w, uint32_t i, unsigned int hows)
{
    const struct wastes *x = &w->wastes;
    enum tensor_kind kind = w->tensors->list[i].kind;

    w->gaps.count = 0;
    for (size_t at = w->first[i]; at < x->count && x->list[at].tensor == i; at++)
        if (hows & hows_of(&x->list[at]))
            add_gap(w, i, x->list[at].from, x->list[at].to);
    if (wastes_know(&w->wastes, i))
        hows = 0;
    if (kind == TENSOR_ACTIVATION && hows & (BIT(WHAT_IF_AGAIN) | BIT(WHAT_IF_AWAY)))
        gaps_of_activation(w, i);
    if (kind == TENSOR_OPTIMIZER && hows & BIT(WHAT_IF_AWAY))
        gaps_of_state(w, i);
    merge_gaps(&w->gaps);
}

/* ---- on the curve ---- */

bool what_if_is_of(const struct what_if *w, const struct what_if_idea *idea, uint32_t tensor)
{
    return (!idea->module || w->module[tensor] == idea->module) &&
           (!idea->line || w->line[tensor] == idea->line) &&
           w->tensors->list[tensor].kind == idea->kind;
}

static void alter(struct altered *x, const struct what_if_idea *idea)
{
    if (idea->how != WHAT_IF_SMALLER)
        x->hows |= BIT(idea->how);
    else if (idea->permille < x->permille)
        x->permille = idea->permille;
}

/* By all that are taken but one (the count: but none). */
static struct altered altered_by(const struct what_if *w, uint32_t i, size_t without)
{
    struct altered x = {0, WHOLE};

    for (size_t n = 0; n < w->taken_count; n++)
        if (n != without && what_if_is_of(w, &w->taken[n], i))
            alter(&x, &w->taken[n]);
    return x;
}

static uint64_t smaller_by(const struct what_if *w, uint32_t i, unsigned int permille)
{
    uint64_t bytes = w->tensors->list[i].bytes;

    return bytes - bytes / WHOLE * permille - bytes % WHOLE * permille / WHOLE;
}

/* Differences of the curve, which are sums modulo 2^64: so they can be undone. */
static void lay(struct what_if *w, uint32_t i, struct altered x, bool undo)
{
    uint64_t bytes = w->tensors->list[i].bytes, less = smaller_by(w, i, x.permille);

    if (less)
        tensor_curve_try(&w->curve, w->curve.born[i], w->curve.died[i], undo ? 0 - less : less);
    if (!x.hows)
        return;
    find_gaps(w, i, x.hows);
    for (size_t n = 0; n < w->gaps.count; n++)
        tensor_curve_try(&w->curve, w->gaps.list[n].from, w->gaps.list[n].to,
                         undo ? less - bytes : bytes - less);
}

static void lay_all(struct what_if *w, const struct what_if_idea *idea, size_t without)
{
    for (size_t n = 0; n < w->count[idea->kind]; n++) {
        uint32_t i = w->of[idea->kind][n];
        struct altered now, then;

        if (!what_if_is_of(w, idea, i))
            continue;
        now = altered_by(w, i, w->taken_count);
        then = altered_by(w, i, without);
        if (without == w->taken_count)
            alter(&then, idea);
        lay(w, i, now, true);
        lay(w, i, then, false);
    }
}

uint64_t what_if_try(struct what_if *w, const struct what_if_idea *idea)
{
    lay_all(w, idea, w->taken_count);
    return tensor_curve_peak(&w->curve, false);
}

uint64_t what_if_without(struct what_if *w, size_t taken)
{
    lay_all(w, &w->taken[taken], taken);
    return tensor_curve_peak(&w->curve, false);
}

void what_if_take(struct what_if *w, const struct what_if_idea *idea)
{
    lay_all(w, idea, w->taken_count);
    tensor_curve_peak(&w->curve, true);
    w->taken[w->taken_count++] = *idea;
}

void what_if_reset(struct what_if *w)
{
    memcpy(w->curve.live, w->live, w->curve.count * sizeof(*w->live));
    w->taken_count = 0;
    tensor_curve_peak(&w->curve, true);
}

static uint64_t left_at(struct what_if *w, uint32_t i, struct altered x, size_t edge)
{
    find_gaps(w, i, x.hows);
    for (size_t n = 0; n < w->gaps.count; n++)
        if (w->gaps.list[n].from <= edge && edge < w->gaps.list[n].to)
            return 0;
    return w->tensors->list[i].bytes - smaller_by(w, i, x.permille);
}

uint64_t what_if_bound(struct what_if *w, const struct what_if_idea *idea)
{
    size_t peak = w->curve.peak_at;
    uint64_t less = 0;

    for (size_t n = 0; n < w->count[idea->kind]; n++) {
        uint32_t i = w->of[idea->kind][n];
        struct altered now, then;

        if (w->curve.born[i] > peak || w->curve.died[i] <= peak || !what_if_is_of(w, idea, i))
            continue;
        now = then = altered_by(w, i, w->taken_count);
        alter(&then, idea);
        less += left_at(w, i, now, peak) - left_at(w, i, then, peak);
    }
    return less;
}

/* ---- the beginning ---- */

/* A process is in an optimizer from a birth there to the next one in another phase. */
static void find_steps(struct what_if *w)
{
    const struct tensor_curve *c = &w->curve;

    w->stepping = memory_zeroed((w->tensors->heap->process_count + 1) * sizeof(*w->stepping));
    for (size_t i = 0; i < c->count; i++) {
        const struct tensor_edge *e = &c->edges[i];
        struct what_if_stretches *s = &w->stepping[e->place - 1];
        bool open = s->count && s->list[s->count - 1].to == SIZE_MAX;
        bool inside = w->tensors->list[e->tensor].from->phase == OP_PHASE_OPTIMIZER;

        if (e->death || open == inside)
            continue;
        if (open) {
            s->list[s->count - 1].to = i;
            continue;
        }
        memory_fit(s->list, s->room, s->count + 1);
        s->list[s->count++] = (struct what_if_stretch){i, SIZE_MAX};
    }
}

static void find_first(struct what_if *w)
{
    size_t at = 0;

    w->first = memory_zeroed((w->tensors->count + 1) * sizeof(*w->first));
    for (size_t i = 0; i < w->tensors->count; i++) {
        while (at < w->wastes.count && w->wastes.list[at].tensor < i)
            at++;
        w->first[i] = (uint32_t)at;
    }
}

static uint32_t text_place(struct what_if_texts *t, uint64_t key, const char *text,
                           const struct op_stack *from)
{
    uint64_t at;

    if (intmap_get(&t->places, key, &at))
        return (uint32_t)at;
    if (t->count == t->room) {
        t->room = t->room ? 2 * t->room : 128;
        t->list = memory_resize(t->list, t->room * sizeof(*t->list));
        t->from = memory_resize(t->from, t->room * sizeof(*t->from));
    }
    t->list[t->count] = text;
    t->from[t->count++] = from;
    intmap_put(&t->places, key, t->count);
    return (uint32_t)t->count;
}

static void find_owners(struct what_if *w)
{
    size_t count = w->tensors->count;

    w->module = memory_zeroed((count + 1) * sizeof(*w->module));
    w->line = memory_zeroed((count + 1) * sizeof(*w->line));
    for (int k = 0; k < TENSOR_KINDS; k++)
        w->of[k] = memory_zeroed((count + 1) * sizeof(*w->of[k]));
    for (size_t i = 0; i < count; i++) {
        const struct tensor *x = &w->tensors->list[i];
        const char *module = x->name ? x->name : x->from->modules;

        w->trains |= x->from->phase == OP_PHASE_BACKWARD;
        w->of[x->kind][w->count[x->kind]++] = (uint32_t)i;
        w->module[i] = text_place(&w->modules, (uintptr_t)module, module, x->from);
        w->line[i] = text_place(&w->lines, frames_key(op_stack_site(x->from)), NULL, x->from);
    }
}

static void find_unjudged(struct what_if *w)
{
    const struct tensor_curve *c = &w->curve;

    for (uint32_t i = 0; i < w->tensors->count && !w->unjudged; i++)
        w->unjudged = c->born[i] <= c->peak_at && c->died[i] > c->peak_at &&
                      !wastes_know(&w->wastes, i);
}

void what_if_start(struct what_if *w, const struct tensors *t, const struct uses *u,
                   const struct moments *m, struct arena *a, uint64_t from_ns, uint64_t to_ns)
{
    *w = (struct what_if){.tensors = t, .uses = u};
    tensor_curve_start(&w->curve, t, from_ns, to_ns);
    w->live = memory_zeroed((w->curve.count + 1) * sizeof(*w->live));
    memcpy(w->live, w->curve.live, w->curve.count * sizeof(*w->live));
    w->wastes = (struct wastes){.tensors = t,
                                .uses = u,
                                .curve = &w->curve,
                                .moments = m,
                                .of = tensors_by_process(t, a),
                                .everywhere = true};
    wastes_find(&w->wastes);
    find_first(w);
    find_steps(w);
    find_owners(w);
    find_unjudged(w);
}

static void free_texts(struct what_if_texts *t)
{
    intmap_free(&t->places);
    free(t->list);
    free(t->from);
}

void what_if_free(struct what_if *w)
{
    for (size_t i = 0; w->stepping && i < w->tensors->heap->process_count; i++)
        free(w->stepping[i].list);
    free(w->stepping);
    for (int k = 0; k < TENSOR_KINDS; k++)
        free(w->of[k]);
    free_texts(&w->modules);
    free_texts(&w->lines);
    free(w->module);
    free(w->line);
    free(w->first);
    free(w->gaps.list);
    free(w->live);
    wastes_free(&w->wastes);
    tensor_curve_free(&w->curve, w->tensors);
    *w = (struct what_if){0};
}
