/* tensor_kinds - see tensor_kinds.h. */
#include "model/tensor_kinds.h"

#include "base/memory.h"
#include "model/tensor_told.h"

#include <stdlib.h>

#define LASTS 2 /* what lives in so many cycles lasts */

struct after {                  /* of a tensor, by number: the first that is born after it and is */
    uint32_t forward, backward; /* in such a phase, */
    uint32_t leaves;            /* in another phase than it, */
    uint32_t same;              /* from the same stack */
    uint32_t cycle;             /* backward phases that began before it */
    bool begun;                 /* a module was called since the last of them, or an optimizer */
    bool blank;                 /* it begins as parameters do */
    uint32_t replaced;          /* 1 + the last that began so and died just before it; 0: none */
};

struct judging {
    struct tensor *const *list;
    uint32_t count, cycles;
    struct after *after;
    struct intmap gradients;  /* sizes that gradients have */
    struct intmap parameters; /* sizes of what begins in a module as parameters do */
    struct intmap firsts;     /* stack -> its first birth */
    struct intmap kinds;      /* stack -> what the last of it was that is known */
    struct intmap cycles_of;  /* stack -> the cycles of its first birth and its last */
};

static enum op_phase phase_at(const struct judging *j, uint32_t i)
{
    return j->list[i]->from->phase;
}

static bool is_backward(enum op_phase p)
{
    return p == OP_PHASE_BACKWARD || p == OP_PHASE_RECOMPUTE;
}

/* Alive when number `at` was born; never, where there is none. */
static bool alive_at(const struct judging *j, const struct tensor *t, uint32_t at)
{
    return at < j->count ? t->until > at : t->until >= j->count;
}

/* ---- what follows each ---- */

/* Phases in which gradients are computed are one, with what is computed again in between. */
static bool is_same_run(enum op_phase a, enum op_phase b)
{
    return a == b || (is_backward(a) && is_backward(b));
}

static void look_ahead(struct judging *j)
{
    struct after next = {.forward = j->count, .backward = j->count, .leaves = j->count};
    struct intmap seen = {0};

    for (uint32_t i = j->count; i-- > 0;) {
        struct after *a = &j->after[i];
        uint64_t same = j->count;

        if (i + 1 < j->count && !is_same_run(phase_at(j, i), phase_at(j, i + 1)))
            next.leaves = i + 1;
        intmap_get(&seen, j->list[i]->stack, &same);
        intmap_put(&seen, j->list[i]->stack, i);
        *a = next;
        a->same = (uint32_t)same;
        if (phase_at(j, i) == OP_PHASE_FORWARD)
            next.forward = i;
        if (phase_at(j, i) == OP_PHASE_BACKWARD)
            next.backward = i;
    }
    intmap_free(&seen);
}

static void count_cycles(struct judging *j)
{
    bool before = false, begun = false;

    for (uint32_t i = 0; i < j->count; i++) {
        bool now = is_backward(phase_at(j, i));
        uint64_t cycles = 0;

        j->cycles += now && !before;
        before = now;
        begun = phase_at(j, i) == OP_PHASE_FORWARD || (begun && phase_at(j, i) == OP_PHASE_OTHER);
        j->after[i].cycle = j->cycles;
        j->after[i].begun = begun;
        if (!intmap_get(&j->cycles_of, j->list[i]->stack, &cycles)) {
            cycles = (uint64_t)j->cycles << 32;
            intmap_put(&j->firsts, j->list[i]->stack, i);
        }
        intmap_put(&j->cycles_of, j->list[i]->stack, (cycles >> 32) << 32 | j->cycles);
    }
}

/* The same elements, if in another dtype. */
static bool is_as_many(uint64_t a, uint64_t b)
{
    uint64_t least = a < b ? a : b, most = a < b ? b : a;

    return most == least || most == 2 * least || most == 4 * least || most == 8 * least;
}

/* A parameter begins blank. When its module is moved or given another dtype, a copy takes its place: what it
 * is made from dies before anything else is born.
 */
static void find_blanks(struct judging *j)
{
    for (uint32_t i = 0; i < j->count; i++) {
        const struct tensor *t = j->list[i];
        uint32_t old = j->after[i + 1].replaced;

        j->after[i].blank = op_rules_is_blank(t->from->called) || !t->from->op;
        if (t->from->phase != OP_PHASE_BUILD)
            continue;
        if (old && op_rules_is_moving(t->from->called) &&
            is_as_many(j->list[old - 1]->bytes, t->bytes))
            j->after[i].blank = true;
        if (!j->after[i].blank)
            continue;
        intmap_put(&j->parameters, t->bytes, 1);
        if (t->until <= j->count)
            j->after[t->until].replaced = i + 1;
    }
}

/* Is it alive so many cycles later? Where there is but one, at the end. */
static bool lasts(const struct judging *j, const struct tensor *t)
{
    uint32_t now = j->after[t->number].cycle, end = j->cycles;

    if (t->until < j->count)
        end = j->after[t->until - 1].cycle; /* it is not the first that was born */
    return end >= now + LASTS || (j->cycles == 1 && end > now && t->until >= j->count);
}

/* Its stack makes such in no other cycle, though there are some. */
static bool is_born_once(const struct judging *j, const struct tensor *t)
{
    uint64_t cycles = 0;

    intmap_get(&j->cycles_of, t->stack, &cycles);
    return cycles >> 32 == (cycles & UINT32_MAX);
}

/* Has its stack made such before? */
static bool is_born_before(const struct judging *j, const struct tensor *t)
{
    uint64_t first = t->number;

    intmap_get(&j->firsts, t->stack, &first);
    return first < t->number;
}

/* Nothing tells whether what dies after the last birth was kept: what others of its stack were says it,
 * which come before it.
 */
static bool know_by_others(const struct judging *j, const struct tensor *t, enum tensor_kind *kind)
{
    uint64_t before;

    if (j->after[t->number].leaves < j->count || t->until < j->count ||
        !intmap_get(&j->kinds, t->stack, &before))
        return false;
    *kind = (enum tensor_kind)before;
    return true;
}

/* ---- kinds ---- */

/* Of a phase that leaves behind what it is there for. */
static enum tensor_kind of_result(struct judging *j, const struct tensor *t,
                                  enum tensor_kind result)
{
    enum tensor_kind kind;

    if (know_by_others(j, t, &kind))
        return kind;
    kind = alive_at(j, t, j->after[t->number].leaves) ? result : TENSOR_TEMPORARY;
    intmap_put(&j->kinds, t->stack, kind);
    return kind;
}

/* Nobody computes gradients with it: what grows is kept until the next one is made from it. */
static enum tensor_kind of_inference(const struct judging *j, const struct tensor *t)
{
    const struct after *a = &j->after[t->number];

    if (!op_rules_is_joining(t->from->op) && !op_rules_is_joining(t->from->called))
        return TENSOR_TEMPORARY;
    if (a->same == j->count && !is_born_before(j, t))
        return TENSOR_TEMPORARY;
    return alive_at(j, t, a->same) ? TENSOR_CACHE : TENSOR_TEMPORARY;
}

/* What a model has given, and the program has kept, is no less computed by it where nothing is learned. */
static bool is_given(const struct judging *j, const struct tensor *t)
{
    uint32_t leaves = j->after[t->number].leaves;

    return leaves < j->count && alive_at(j, t, leaves);
}

static enum tensor_kind of_forward(const struct judging *j, const struct tensor *t)
{
    const struct after *a = &j->after[t->number];

    if (a->backward == j->count && of_inference(j, t) == TENSOR_CACHE)
        return TENSOR_CACHE;
    if (a->backward == j->count)
        return is_given(j, t) ? TENSOR_ACTIVATION : TENSOR_TEMPORARY;
    if (lasts(j, t) && is_born_once(j, t) && j->cycles > LASTS)
        return TENSOR_BUFFER;
    return alive_at(j, t, a->backward) ? TENSOR_ACTIVATION : TENSOR_TEMPORARY;
}

static bool has_gradient(const struct judging *j, const struct tensor *t)
{
    uint64_t known;

    return intmap_get(&j->gradients, t->bytes, &known);
}

/* What does not begin as parameters do is none unless it has a gradient.
 * Where there are none at all, zeros that an object of the program makes may be a cache as well.
 */
static enum tensor_kind of_module(const struct judging *j, const struct tensor *t)
{
    if (has_gradient(j, t) || j->after[t->number].blank)
        return TENSOR_PARAMETER;
    if (j->cycles)
        return TENSOR_BUFFER;
    return t->from->phase == OP_PHASE_OTHER && !op_rules_is_copying(t->from->called)
             ? TENSOR_UNKNOWN
             : TENSOR_PARAMETER;
}

static enum tensor_kind of_build(const struct judging *j, const struct tensor *t)
{
    uint32_t forward = j->after[t->number].forward, backward = j->after[t->number].backward;

    return alive_at(j, t, forward < backward ? forward : backward) ? of_module(j, t)
                                                                   : TENSOR_TEMPORARY;
}

/* Computed before the first step. Where there is none, what a stack makes again and again may be results. */
static bool is_prepared(const struct judging *j, const struct tensor *t)
{
    const struct after *a = &j->after[t->number];

    return a->cycle == 0 && (j->cycles || (a->same == j->count && !is_born_before(j, t)));
}

/* Made with an object of the program that may be a model's: not data, and not held by what nobody calls as a
 * module, where gradients tell what is learned.
 */
static bool is_of_object(const struct judging *j, const struct tensor *t)
{
    const struct op_class *maker = t->from->maker;

    return maker && !t->from->data && (maker->module || !j->cycles || has_gradient(j, t));
}

/* Of the shape and size of a parameter, and not a module's: an optimizer that is written out keeps such, but so may others. */
static bool is_beside(const struct judging *j, const struct tensor *t)
{
    uint64_t known;

    return op_rules_is_like(t->from->called) && !(t->from->maker && t->from->maker->module) &&
           (has_gradient(j, t) || intmap_get(&j->parameters, t->bytes, &known));
}

static enum tensor_kind of_lasting(const struct judging *j, const struct tensor *t)
{
    bool factory = op_rules_is_factory(t->from->called);

    if (is_beside(j, t))
        return TENSOR_UNKNOWN;
    if (is_of_object(j, t))
        return of_module(j, t);
    if (factory && has_gradient(j, t) && j->after[t->number].cycle == 0)
        return TENSOR_PARAMETER;
    if (factory || is_prepared(j, t))
        return TENSOR_INPUT;
    return is_born_once(j, t) ? TENSOR_UNKNOWN : TENSOR_ACTIVATION; /* a graph that is kept */
}

/* Read or made; or copied or, before a module is called, computed, and kept though gradients were
 * computed: the graph does not need it any more, so the program does.
 */
static bool is_input(const struct judging *j, const struct tensor *t)
{
    const struct after *a = &j->after[t->number];
    bool copied = op_rules_is_copying(t->from->called);

    if (t->from->data || (op_rules_is_factory(t->from->called) && !copied))
        return true;
    if (a->backward == j->count)
        return copied;
    return (copied || (!a->begun && a->forward < a->backward)) &&
           alive_at(j, t, j->after[a->backward].leaves);
}

/* After a module was called, for another to be called with, and kept though gradients were computed: picked out of data, or
 * of what the first one gave.
 */
static bool is_picked(const struct judging *j, const struct tensor *t)
{
    const struct after *a = &j->after[t->number];

    return op_rules_is_picking(t->from->called) && a->begun && a->forward < a->backward &&
           a->backward < j->count && alive_at(j, t, j->after[a->backward].leaves);
}

/* The program's own code: inputs, parameters without a module, losses. */
static enum tensor_kind of_other(const struct judging *j, const struct tensor *t)
{
    const struct after *a = &j->after[t->number];
    uint32_t used = a->forward < a->backward ? a->forward : a->backward;

    if (a->backward == j->count && of_inference(j, t) == TENSOR_CACHE)
        return TENSOR_CACHE;
    if (lasts(j, t) || (a->backward == j->count && t->until >= j->count))
        return of_lasting(j, t);
    if (is_input(j, t))
        return alive_at(j, t, used) ? TENSOR_INPUT : TENSOR_TEMPORARY;
    if (is_picked(j, t))
        return TENSOR_UNKNOWN;
    if (a->backward == j->count && a->forward < j->count &&
        alive_at(j, t, j->after[a->forward].leaves))
        return TENSOR_UNKNOWN; /* what a module is called with, or left over from what it gave */
    return alive_at(j, t, a->backward) ? TENSOR_ACTIVATION : TENSOR_TEMPORARY;
}

static enum tensor_kind kind_of(struct judging *j, const struct tensor *t)
{
    if (!op_rules_has_phases(t->from->framework))
        return TENSOR_UNKNOWN;
    switch (t->from->phase) {
    case OP_PHASE_OPTIMIZER:
        return of_result(j, t, TENSOR_OPTIMIZER);
    case OP_PHASE_BACKWARD:
        return t->kind;
    case OP_PHASE_FORWARD:
    case OP_PHASE_RECOMPUTE:
        return of_forward(j, t);
    case OP_PHASE_BUILD:
        return of_build(j, t);
    case OP_PHASE_OTHER:
        break;
    }
    return of_other(j, t);
}

/* Their sizes are those of parameters. */
static void find_gradients(struct judging *j)
{
    for (uint32_t i = 0; i < j->count; i++) {
        struct tensor *t = j->list[i];

        if (t->from->phase != OP_PHASE_BACKWARD)
            continue;
        t->kind = of_result(j, t, TENSOR_GRADIENT);
        if (t->kind == TENSOR_GRADIENT)
            intmap_put(&j->gradients, t->bytes, 1);
    }
}

void tensor_kinds_judge(struct tensor *const *list, size_t count)
{
    struct judging j = {.list = list, .count = (uint32_t)count};

    j.after = memory_zeroed((count + 1) * sizeof(*j.after));
    look_ahead(&j);
    count_cycles(&j);
    find_blanks(&j);
    find_gradients(&j);
    for (size_t i = 0; i < count; i++) {
        list[i]->kind = kind_of(&j, list[i]);
        list[i]->left = j.after[i].leaves;
        list[i]->needed = j.after[i].backward;
    }
    free(j.after);
    intmap_free(&j.gradients);
    intmap_free(&j.parameters);
    intmap_free(&j.firsts);
    intmap_free(&j.kinds);
    intmap_free(&j.cycles_of);
}

void tensor_kinds_all(struct tensors *t, struct arena *a)
{
    struct tensor ***of = tensors_by_process(t, a);

    for (size_t i = 0; i < t->heap->process_count; i++)
        if (of[i])
            tensor_kinds_judge(of[i], t->born[i]);
    for (size_t i = 0; i < t->count; i++)
        tensor_told_apply(&t->list[i]);
}
