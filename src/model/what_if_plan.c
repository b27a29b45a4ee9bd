/* what_if_plan - see what_if_plan.h. */
#include "model/what_if_plan.h"

#include "base/count.h"
#include "base/memory.h"

#include <stdlib.h>

#define OWNERS_MOST 32 /* modules of a kind, and lines, that are tried one by one */

/* Types that suit a kind: two bytes for what is computed with, one where that is known to do: the
 * state of optimizers with a scale for each part of it, and what is only read while nothing is
 * trained. Buffers are left out: sums that run over many steps need their bits.
 */
static const struct {
    enum tensor_kind kind;
    unsigned int permille;
    bool trained; /* also while gradients are computed */
} types[] = {
    {TENSOR_PARAMETER, 500, true}, {TENSOR_PARAMETER, 250, false}, {TENSOR_GRADIENT, 500, true},
    {TENSOR_OPTIMIZER, 500, true}, {TENSOR_OPTIMIZER, 250, true},  {TENSOR_ACTIVATION, 500, true},
    {TENSOR_INPUT, 500, true},     {TENSOR_CACHE, 500, true},      {TENSOR_CACHE, 250, true},
};

static bool lives_at_peak(const struct what_if *w, uint32_t i)
{
    return w->curve.born[i] <= w->curve.peak_at && w->curve.died[i] > w->curve.peak_at;
}

/* ---- each by itself ---- */

static uint64_t held_at_peak(const struct what_if *w, const struct what_if_idea *idea)
{
    uint64_t bytes = 0;

    for (size_t n = 0; n < w->count[idea->kind]; n++) {
        uint32_t i = w->of[idea->kind][n];

        if (lives_at_peak(w, i) && what_if_is_of(w, idea, i))
            bytes += w->tensors->list[i].bytes;
    }
    return bytes;
}

/* One that lowers nothing by itself may do so beside others. */
static const struct what_if_idea *add(struct what_if_plan *p, struct what_if_idea idea)
{
    struct what_if *w = p->what_if;

    if (!w->count[idea.kind])
        return NULL;
    idea.at_peak = held_at_peak(w, &idea);
    idea.peak = what_if_bound(w, &idea) ? what_if_try(w, &idea) : w->curve.peak;
    idea.fall = w->curve.peak - idea.peak;
    memory_fit(p->ideas, p->room, p->count + 1);
    p->ideas[p->count] = idea;
    return &p->ideas[p->count++];
}

struct owner {
    uint32_t place;
    uint64_t bytes;
};

static int by_bytes(const void *a, const void *b)
{
    const struct owner *x = a, *y = b;

    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* The modules, or lines, that hold most of a kind at the peak; how many they are. */
static size_t find_owners(const struct what_if *w, enum tensor_kind kind, const uint32_t *of,
                          size_t count, struct owner *owners)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        owners[i] = (struct owner){(uint32_t)i + 1, 0};
    for (size_t n = 0; n < w->count[kind]; n++)
        if (lives_at_peak(w, w->of[kind][n]))
            owners[of[w->of[kind][n]] - 1].bytes += w->tensors->list[w->of[kind][n]].bytes;
    for (size_t i = 0; i < count; i++)
        if (owners[i].bytes)
            owners[kept++] = owners[i];
    memory_sort(owners, kept, sizeof(*owners), by_bytes);
    return kept < OWNERS_MOST ? kept : OWNERS_MOST;
}

/* Does a module say the same already? Then its line tells nothing new. */
static bool is_told(const struct what_if_plan *p, const struct what_if_idea *line)
{
    for (size_t i = 0; i < p->count; i++) {
        const struct what_if_idea *x = &p->ideas[i];

        if (x != line && x->how == line->how && x->kind == line->kind && !x->line && x->module &&
            x->at_peak == line->at_peak && x->peak == line->peak)
            return true;
    }
    return false;
}

static void add_owners(struct what_if_plan *p, enum what_if_how how, enum tensor_kind kind)
{
    struct what_if *w = p->what_if;
    size_t room = w->modules.count > w->lines.count ? w->modules.count : w->lines.count;
    struct owner *owners = memory_zeroed((room + 1) * sizeof(*owners));
    size_t count = find_owners(w, kind, w->module, w->modules.count, owners);

    for (size_t i = 0; i < count; i++)
        add(p, (struct what_if_idea){.how = how, .kind = kind, .module = owners[i].place});
    count = find_owners(w, kind, w->line, w->lines.count, owners);
    for (size_t i = 0; i < count; i++) {
        const struct what_if_idea *x = add(
            p, (struct what_if_idea){.how = how, .kind = kind, .line = owners[i].place});

        if (x && is_told(p, x))
            p->count--;
    }
    free(owners);
}

static void add_with_owners(struct what_if_plan *p, enum what_if_how how, enum tensor_kind kind)
{
    const struct what_if_idea *x = add(p, (struct what_if_idea){.how = how, .kind = kind});

    if (x && x->fall)
        add_owners(p, how, kind);
}

static void add_types(struct what_if_plan *p, const struct selection_type *asked, size_t count)
{
    for (size_t i = 0; i < COUNT(types); i++)
        if (types[i].trained || !p->what_if->trains)
            add(p, (struct what_if_idea){.how = WHAT_IF_SMALLER,
                                         .kind = types[i].kind,
                                         .permille = types[i].permille});
    for (size_t i = 0; i < count; i++)
        add(p, (struct what_if_idea){.how = WHAT_IF_SMALLER,
                                     .kind = (enum tensor_kind)asked[i].kind,
                                     .permille = asked[i].permille});
}

static int by_fall(const void *a, const void *b)
{
    const struct what_if_idea *x = a, *y = b;

    if (x->fall != y->fall)
        return x->fall > y->fall ? -1 : 1;
    if (x->how != y->how)
        return x->how < y->how ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->module != y->module)
        return x->module < y->module ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

void what_if_plan_ideas(struct what_if_plan *p, struct what_if *w,
                        const struct selection_type *asked, size_t count)
{
    *p = (struct what_if_plan){.what_if = w};
    for (int k = 0; k < TENSOR_KINDS; k++) {
        enum tensor_kind kind = (enum tensor_kind)k;

        if (w->uses) {
            add(p, (struct what_if_idea){.how = WHAT_IF_FIRST_USE, .kind = kind});
            add(p, (struct what_if_idea){.how = WHAT_IF_LAST_USE, .kind = kind});
        }
        add_with_owners(p, WHAT_IF_AWAY, kind);
    }
    add(p, (struct what_if_idea){.how = WHAT_IF_AFTER_STEP, .kind = TENSOR_GRADIENT});
    add_with_owners(p, WHAT_IF_AGAIN, TENSOR_ACTIVATION);
    add_types(p, asked, count);
    memory_sort(p->ideas, p->count, sizeof(*p->ideas), by_fall);
}

/* ---- together ---- */

static bool is_taken(const struct what_if *w, const struct what_if_idea *idea)
{
    for (size_t i = 0; i < w->taken_count; i++)
        if (w->taken[i].how == idea->how && w->taken[i].kind == idea->kind &&
            w->taken[i].permille == idea->permille)
            return true;
    return false;
}

static bool is_narrow(const struct what_if_idea *idea)
{
    return idea->module || idea->line;
}

struct candidate {
    const struct what_if_idea *idea;
    uint64_t bound;
};

static int by_bound(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->bound != y->bound)
        return x->bound > y->bound ? -1 : 1;
    return x->idea < y->idea ? -1 : x->idea > y->idea;
}

/* The one that lowers the peak most; where none does, as it is as large elsewhere, the one that
 * takes most away here. No idea does more than its bound, so few of them need to be tried.
 */
static const struct what_if_idea *best_of(struct what_if_plan *p, struct candidate *list)
{
    struct what_if *w = p->what_if;
    const struct what_if_idea *best = NULL;
    uint64_t most = 0, before = w->curve.peak;
    size_t count = 0;

    for (size_t i = 0; i < p->count; i++)
        if (!is_narrow(&p->ideas[i]) && !is_taken(w, &p->ideas[i]))
            list[count++] = (struct candidate){&p->ideas[i], what_if_bound(w, &p->ideas[i])};
    memory_sort(list, count, sizeof(*list), by_bound);
    for (size_t i = 0; i < count && list[i].bound > most; i++) {
        uint64_t fall = before - what_if_try(w, list[i].idea);

        if (!best || fall > most) {
            best = list[i].idea;
            most = fall;
        }
    }
    return best;
}

/* The latest first: what made the way free for others stays. */
static void leave_out_needless(struct what_if *w, uint64_t limit)
{
    for (size_t i = w->taken_count; i-- > 0 && w->taken_count > 1;) {
        struct what_if_idea kept[WHAT_IF_TAKEN_MOST];
        size_t count = 0;

        if (what_if_without(w, i) > limit)
            continue;
        for (size_t n = 0; n < w->taken_count; n++)
            if (n != i)
                kept[count++] = w->taken[n];
        what_if_reset(w);
        for (size_t n = 0; n < count; n++)
            what_if_take(w, &kept[n]);
    }
}

/* The last one of the plan, for as little as is enough: the list has the largest fall first. */
static void narrow_last(const struct what_if_plan *p, struct what_if_idea *plan, size_t count,
                        uint64_t limit)
{
    struct what_if *w = p->what_if;

    what_if_reset(w);
    for (size_t i = 0; i + 1 < count; i++)
        what_if_take(w, &plan[i]);
    for (size_t i = p->count; count && i-- > 0;) {
        const struct what_if_idea *x = &p->ideas[i];

        if (is_narrow(x) && x->how == plan[count - 1].how && x->kind == plan[count - 1].kind &&
            w->curve.peak <= limit + what_if_bound(w, x) && what_if_try(w, x) <= limit) {
            plan[count - 1] = *x;
            return;
        }
    }
}

/* Each after those before it. */
static void tell(struct what_if_plan *p, const struct what_if_idea *plan, size_t count)
{
    struct what_if *w = p->what_if;

    what_if_reset(w);
    for (size_t i = 0; i < count; i++) {
        struct what_if_idea *x = &p->together[i];
        uint64_t before = w->curve.peak;

        *x = plan[i];
        x->at_peak = held_at_peak(w, x);
        what_if_take(w, x);
        x->peak = w->curve.peak;
        x->fall = before - x->peak;
    }
    p->together_count = count;
    p->peak = w->curve.peak;
    what_if_reset(w);
}

void what_if_plan_together(struct what_if_plan *p, uint64_t limit)
{
    struct what_if *w = p->what_if;
    struct candidate *list = memory_zeroed((p->count + 1) * sizeof(*list));
    struct what_if_idea plan[WHAT_IF_TAKEN_MOST];
    const struct what_if_idea *best;
    size_t count;

    while (w->curve.peak > limit && w->taken_count < WHAT_IF_TAKEN_MOST &&
           (best = best_of(p, list)))
        what_if_take(w, best);
    leave_out_needless(w, w->curve.peak > limit ? w->curve.peak : limit);
    count = w->taken_count;
    for (size_t i = 0; i < count; i++)
        plan[i] = w->taken[i];
    if (limit && w->curve.peak <= limit)
        narrow_last(p, plan, count, limit);
    tell(p, plan, count);
    free(list);
}

void what_if_plan_free(struct what_if_plan *p)
{
    free(p->ideas);
    *p = (struct what_if_plan){0};
}
