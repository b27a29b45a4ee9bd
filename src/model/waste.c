/* waste - see waste.h. */
#include "model/waste.h"

#include "base/memory.h"

#include <stdlib.h>

static void add(struct wastes *w, struct waste x)
{
    memory_fit(w->list, w->room, w->count + 1);
    w->list[w->count++] = x;
}

/* ---- what is known of a stretch ---- */

static size_t edge_at(const struct wastes *w, uint32_t place, struct use_point p, size_t near)
{
    return tensor_curve_at(w->curve, place, p.time_ns, p.number, near);
}

static bool has_peak(const struct wastes *w, struct waste_stretch s)
{
    return s.from <= w->curve->peak_at && w->curve->peak_at < s.to;
}

static bool is_better(const struct wastes *w, struct waste_stretch a, struct waste_stretch b)
{
    if (has_peak(w, a) != has_peak(w, b))
        return has_peak(w, a);
    return a.to > a.from && a.to - a.from > b.to - b.from;
}

/* The part of a stretch in which every use is told: the one with the peak, or the longest. */
static struct waste_stretch known_part(const struct wastes *w, uint32_t place,
                                       struct waste_stretch s)
{
    struct waste_stretch best = {s.from, s.from};
    bool any = false;

    for (size_t i = 0; w->uses && i < w->uses->window_count; i++) {
        const struct use_window *window = &w->uses->windows[i];
        struct waste_stretch part = {w->known[i].from, w->known[i].to};

        if (window->place != place)
            continue;
        any = true;
        part.from = part.from > s.from ? part.from : s.from;
        part.to = part.to < s.to ? part.to : s.to;
        if (part.from < part.to && is_better(w, part, best))
            best = part;
    }
    return any ? best : s;
}

static bool has_window(const struct wastes *w, const struct tensor *x)
{
    for (size_t i = 0; w->uses && i < w->uses->window_count; i++)
        if (w->uses->windows[i].place == x->place)
            return x->number != TENSOR_NEVER || w->uses->windows[i].all;
    return false;
}

/* ---- by uses ---- */

static bool step_ends(const struct wastes *w, uint64_t process, uint64_t from_ns, uint64_t to_ns)
{
    for (size_t i = 0; i < w->moments->loop_count; i++) {
        const struct moments_loop *l = &w->moments->loops[i];
        size_t low = 0, high = l->count;

        if (l->process != process)
            continue;
        while (low < high) {
            size_t middle = low + (high - low) / 2;

            if (l->steps[middle]->time_ns < from_ns)
                low = middle + 1;
            else
                high = middle;
        }
        if (low < l->count && l->steps[low]->time_ns < to_ns)
            return true;
    }
    return false;
}

static void add_stretch(struct wastes *w, struct waste x, size_t from, size_t to)
{
    struct waste_stretch s = {from, to};

    if (from >= to)
        return;
    s = known_part(w, w->tensors->list[x.tensor].place, s);
    x.by_uses = true;
    x.from = s.from;
    x.to = s.to;
    if (x.from < x.to && (x.kind != WASTE_IDLE || w->everywhere || has_peak(w, s)))
        add(w, x);
}

static void end_of_uses(struct wastes *w, uint32_t i, struct use_point last, size_t from,
                        uint64_t name)
{
    const struct tensor *x = &w->tensors->list[i];
    uint64_t process = w->tensors->heap->processes[x->place - 1]->number;
    bool step = step_ends(w, process, last.time_ns, x->died_ns);

    if (step || w->curve->died[i] < w->curve->count)
        add_stretch(w, (struct waste){step ? WASTE_LONG : WASTE_LATE, true, i, 0, 0, name, 0}, from,
                    w->curve->died[i]);
}

/* A state of the curve is needed if a use lies in it, also one that begins there. */
static void judge_used(struct wastes *w, uint32_t i, const struct use *use)
{
    const struct tensor *x = &w->tensors->list[i];
    size_t needed = w->curve->born[i];
    struct use_point last = {0};
    uint64_t name = 0;
    bool first = true;

    for (; use; use = uses_next(w->uses, use), first = false) {
        size_t from = edge_at(w, x->place, use->from, needed);
        size_t to = edge_at(w, x->place, use->to, from);

        add_stretch(
            w, (struct waste){first ? WASTE_EARLY : WASTE_IDLE, true, i, 0, 0, name, use->name},
            needed, from ? from - 1 : 0);
        if (to >= needed) {
            needed = to;
            last = use->to;
            name = use->name;
        }
    }
    end_of_uses(w, i, last, needed, name);
}

static void judge_unused(struct wastes *w, uint32_t i)
{
    struct waste_stretch life = {w->curve->born[i], w->curve->died[i]};
    struct waste_stretch known = known_part(w, w->tensors->list[i].place, life);
    bool whole = known.from == life.from && known.to == life.to;

    if (whole)
        add(w, (struct waste){WASTE_UNUSED, true, i, life.from, life.to, 0, 0});
    else if (w->everywhere ? known.from < known.to : has_peak(w, known))
        add(w, (struct waste){WASTE_IDLE, true, i, known.from, known.to, 0, 0});
}

/* ---- by stacks ---- */

/* A gradient from the end of the optimizer's step that follows: where that allocates nothing, none
 * is seen. */
static void judge_gradient(struct wastes *w, uint32_t i)
{
    const struct tensor *x = &w->tensors->list[i];
    struct tensor **of = w->of[x->place - 1];
    uint32_t count = w->tensors->born[x->place - 1];
    size_t from;

    if (x->kind != TENSOR_GRADIENT || x->left >= count ||
        of[x->left]->from->phase != OP_PHASE_OPTIMIZER)
        return;
    from = tensor_curve_birth(w->curve, w->tensors, x->place, of[x->left]->left);
    if (from < w->curve->died[i])
        add(w, (struct waste){WASTE_LONG, false, i, from, w->curve->died[i], 0, 0});
}

/* It is a tensor, or told of; and no sample, which others may have come before. */
static bool is_one(const struct wastes *w, uint32_t i)
{
    const struct tensor *x = &w->tensors->list[i];

    return !x->sample && (x->number != TENSOR_NEVER || (w->uses && uses_first(w->uses, i)));
}

static void find_again(struct wastes *w)
{
    for (size_t i = 0; i + 1 < w->curve->count; i++) {
        const struct tensor_edge *e = &w->curve->edges[i];
        const struct tensor *x = &w->tensors->list[e->tensor];
        const struct tensor *y = &w->tensors->list[e[1].tensor];

        if (e->death && !e[1].death && x->place == y->place && x->stack == y->stack &&
            x->bytes == y->bytes && x->stack && is_one(w, e->tensor))
            add(w, (struct waste){WASTE_AGAIN, false, e[1].tensor, i, i, 0, 0});
    }
}

/* ---- the whole ---- */

bool wastes_know(const struct wastes *w, uint32_t tensor)
{
    return w->uses && (uses_first(w->uses, tensor) || has_window(w, &w->tensors->list[tensor]));
}

static void judge(struct wastes *w, uint32_t i)
{
    const struct tensor *x = &w->tensors->list[i];
    const struct use *first = w->uses ? uses_first(w->uses, i) : NULL;

    if (first)
        judge_used(w, i, first);
    else if (!has_window(w, x))
        judge_gradient(w, i);
    else if (x->address && !x->sample && !uses_inner(w->uses, i))
        judge_unused(w, i);
}

static void find_known(struct wastes *w)
{
    size_t count = w->uses ? w->uses->window_count : 0;

    w->known = memory_zeroed((count + 1) * sizeof(*w->known));
    for (size_t i = 0; i < count; i++) {
        const struct use_window *window = &w->uses->windows[i];

        w->known[i].from = edge_at(w, window->place, window->from, 0);
        w->known[i].to = edge_at(w, window->place, window->to, w->curve->count);
    }
}

void wastes_find(struct wastes *w)
{
    find_known(w);
    for (size_t i = 0; i < w->tensors->count; i++)
        judge(w, (uint32_t)i);
    find_again(w);
}

void wastes_free(struct wastes *w)
{
    free(w->list);
    free(w->known);
    w->list = NULL;
    w->known = NULL;
    w->count = w->room = 0;
}

const char *waste_kind_text(enum waste_kind kind)
{
    static const char *const texts[] = {
        [WASTE_UNUSED] = "unused",  [WASTE_EARLY] = "early allocation",
        [WASTE_LATE] = "late free", [WASTE_LONG] = "over-long life",
        [WASTE_IDLE] = "idle",      [WASTE_AGAIN] = "redundant",
    };

    return texts[kind];
}
