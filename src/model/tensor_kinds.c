/* tensor_kinds - see tensor_kinds.h. */
#include "model/tensor_kinds.h"

#include "model/tensor_lives.h"
#include "model/tensor_told.h"

#include <string.h>

#define JOINS_MOST 1024 /* that are looked at: those of all layers between two of one */

/* Nothing tells whether what dies after the last birth was kept: what others of its stack were says
 * it, which come before it.
 */
static bool know_by_others(const struct tensor_lives *j, const struct tensor *t,
                           enum tensor_kind *kind)
{
    uint64_t before;

    if (j->after[t->number].leaves < j->count || t->until < j->count ||
        !intmap_get(&j->kinds, t->stack, &before))
        return false;
    *kind = (enum tensor_kind)before;
    return true;
}

/* Of a phase that leaves behind what it is there for. */
static enum tensor_kind of_result(struct tensor_lives *j, const struct tensor *t,
                                  enum tensor_kind result)
{
    enum tensor_kind kind;

    if (know_by_others(j, t, &kind))
        return kind;
    kind = tensor_lives_at(j, t, j->after[t->number].leaves) ? result : TENSOR_TEMPORARY;
    intmap_put(&j->kinds, t->stack, kind);
    return kind;
}

/* The next after number `at` that is put together of no less, by the same stack or by another; the
 * count: none. */
static uint32_t next_joined(const struct tensor_lives *j, const struct tensor *t, uint32_t at,
                            bool same)
{
    for (int i = 0; i < JOINS_MOST; i++) {
        at = j->after[at].joined;
        if (at == j->count ||
            ((j->list[at]->stack == t->stack) == same && j->list[at]->bytes >= t->bytes))
            return at;
    }
    return j->count;
}

/* What grows may be put together by two in turn, as where beams are put into order: each lives
 * until the other has made the next one from it. The last ones are what those before them were.
 */
static bool takes_turns(struct tensor_lives *j, const struct tensor *t)
{
    uint32_t other = next_joined(j, t, t->number, false), again;
    uint64_t before;

    if (!tensor_lives_at(j, t, other))
        return false;
    again = other < j->count ? next_joined(j, t, other, true) : other;
    if (again == j->count)
        return intmap_get(&j->kinds, t->stack, &before) && before == TENSOR_CACHE;
    if (j->list[again]->bytes == t->bytes || !tensor_lives_at(j, j->list[other], again))
        return false;
    intmap_put(&j->kinds, t->stack, TENSOR_CACHE);
    return true;
}

/* Nobody computes gradients with it: what grows is kept until the next one is made from it. */
static bool grows(struct tensor_lives *j, const struct tensor *t)
{
    const struct tensor_after *a = &j->after[t->number];

    if (a->backward < j->count || !tensor_is_of_inference(j, t) || !tensor_is_joined(t))
        return false;
    if (takes_turns(j, t))
        return true;
    if (a->same == j->count && !tensor_is_born_before(j, t))
        return false;
    return tensor_lives_at(j, t, a->same);
}

/* What a model has given, and the program has kept, is no less computed by it where nothing is
 * learned. */
static bool is_given(const struct tensor_lives *j, const struct tensor *t)
{
    uint32_t leaves = j->after[t->number].leaves;

    return leaves < j->count && tensor_lives_at(j, t, leaves);
}

/* The same where nothing but modules makes tensors, so that no phase ends: it is there for good,
 * though its stack has come again and again.
 */
static bool is_gathered(struct tensor_lives *j, const struct tensor *t)
{
    const struct tensor_after *a = &j->after[t->number];
    uint64_t before;

    if (t->until < j->count || a->leaves < j->count)
        return false;
    if (a->same == j->count || j->after[a->same].same == j->count)
        return intmap_get(&j->kinds, t->stack, &before) && before == TENSOR_ACTIVATION;
    intmap_put(&j->kinds, t->stack, TENSOR_ACTIVATION);
    return true;
}

static enum tensor_kind of_forward(struct tensor_lives *j, const struct tensor *t)
{
    const struct tensor_after *a = &j->after[t->number];

    if (grows(j, t))
        return TENSOR_CACHE;
    if (a->backward == j->count)
        return is_given(j, t) || is_gathered(j, t) ? TENSOR_ACTIVATION : TENSOR_TEMPORARY;
    if (tensor_lives_on(j, t) && tensor_is_born_once(j, t) && j->cycles > TENSOR_LASTS)
        return TENSOR_BUFFER;
    return tensor_lives_at(j, t, a->backward) ? TENSOR_ACTIVATION : TENSOR_TEMPORARY;
}

static bool has_gradient(const struct tensor_lives *j, const struct tensor *t)
{
    uint64_t known;

    return intmap_get(&j->gradients, t->bytes, &known);
}

/* What does not begin as parameters do is none unless it has a gradient.
 * Where there are none at all, zeros that an object of the program makes may be a cache as well.
 */
static enum tensor_kind of_module(const struct tensor_lives *j, const struct tensor *t)
{
    if (has_gradient(j, t) || j->after[t->number].blank)
        return TENSOR_PARAMETER;
    if (j->cycles)
        return TENSOR_BUFFER;
    return t->from->phase == OP_PHASE_OTHER && !op_rules_is_copying(t->from->called)
             ? TENSOR_UNKNOWN
             : TENSOR_PARAMETER;
}

static enum tensor_kind of_build(const struct tensor_lives *j, const struct tensor *t)
{
    uint32_t forward = j->after[t->number].forward, backward = j->after[t->number].backward;

    return tensor_lives_at(j, t, forward < backward ? forward : backward) ? of_module(j, t)
                                                                          : TENSOR_TEMPORARY;
}

/* What it is put together of, or padded with, is gone before a module is called. */
static enum tensor_kind of_shard(const struct tensor_lives *j, const struct tensor *t)
{
    return tensor_lives_at(j, t, j->after[t->number].forward) ? TENSOR_PARAMETER : TENSOR_TEMPORARY;
}

/* Computed before the first step. Where there is none, what a stack makes again and again may be
 * results. */
static bool is_prepared(const struct tensor_lives *j, const struct tensor *t)
{
    const struct tensor_after *a = &j->after[t->number];

    return a->cycle == 0 && (j->cycles || (a->same == j->count && !tensor_is_born_before(j, t)));
}

/* Made with an object of the program that may be a model's: not data, and not held by what nobody
 * calls as a module, where gradients tell what is learned.
 */
static bool is_of_object(const struct tensor_lives *j, const struct tensor *t)
{
    const struct op_class *maker = t->from->maker;

    return maker && !t->from->data && (maker->module || !j->cycles || has_gradient(j, t));
}

/* Of the shape and size of a parameter, and not a module's: an optimizer that is written out keeps
 * such, but so may others. */
static bool is_beside(const struct tensor_lives *j, const struct tensor *t)
{
    uint64_t known;

    return op_rules_is_like(t->from->called) && !(t->from->maker && t->from->maker->module) &&
           (has_gradient(j, t) || intmap_get(&j->parameters, t->bytes, &known));
}

/* Is it made of nothing that a model may have given? A line that ran before any module was called
 * is none that takes what modules give.
 */
static bool is_of_data(const struct tensor_lives *j, const struct tensor *t)
{
    return t->from->data || op_rules_is_reading(t->from->called) || tensor_is_of_no_call(j, t);
}

/* Though gradients were computed: the graph does not need it any more, so the program does. */
static bool is_kept(const struct tensor_lives *j, const struct tensor *t)
{
    uint32_t backward = j->after[t->number].backward;

    return backward < j->count && tensor_lives_at(j, t, j->after[backward].leaves);
}

/* Copied; or computed, and a module is called afterwards. */
static bool may_be_called_with(const struct tensor_lives *j, const struct tensor *t)
{
    const struct tensor_after *a = &j->after[t->number];

    if (op_rules_is_copying(t->from->called))
        return a->backward == j->count || is_kept(j, t);
    return a->forward < a->backward && is_kept(j, t);
}

/* Left for others to write into after a module was called, and dropped with the graph: it may be a
 * part of that which is kept elsewhere. */
static bool may_be_of_graph(const struct tensor_lives *j, const struct tensor *t)
{
    return op_rules_is_empty(t->from->called) && !tensor_is_of_no_call(j, t) &&
           j->after[t->number].backward < j->count && !is_kept(j, t);
}

/* Read or made; or what may be one, and is of data. */
static bool is_input(const struct tensor_lives *j, const struct tensor *t)
{
    if (t->from->data)
        return true;
    if (op_rules_is_factory(t->from->called) && !op_rules_is_copying(t->from->called))
        return !may_be_of_graph(j, t);
    return is_of_data(j, t) && may_be_called_with(j, t);
}

static enum tensor_kind of_lasting(const struct tensor_lives *j, const struct tensor *t)
{
    bool early = is_prepared(j, t);

    if (is_beside(j, t))
        return TENSOR_UNKNOWN;
    if (is_of_object(j, t))
        return of_module(j, t);
    if (op_rules_is_factory(t->from->called) && has_gradient(j, t) &&
        j->after[t->number].cycle == 0)
        return TENSOR_PARAMETER;
    if (is_input(j, t) || (early && is_of_data(j, t)))
        return TENSOR_INPUT;
    if (early || may_be_called_with(j, t) || tensor_is_born_once(j, t))
        return TENSOR_UNKNOWN;
    return TENSOR_ACTIVATION; /* a graph that is kept */
}

/* The program's own code: inputs, parameters without a module, losses. */
static enum tensor_kind of_other(struct tensor_lives *j, const struct tensor *t)
{
    const struct tensor_after *a = &j->after[t->number];
    uint32_t used = a->forward < a->backward ? a->forward : a->backward;

    if (grows(j, t))
        return TENSOR_CACHE;
    if (tensor_lives_on(j, t) || (a->backward == j->count && t->until >= j->count))
        return of_lasting(j, t);
    if (is_input(j, t))
        return tensor_lives_at(j, t, used) ? TENSOR_INPUT : TENSOR_TEMPORARY;
    if ((may_be_called_with(j, t) || may_be_of_graph(j, t)) && tensor_lives_at(j, t, used))
        return TENSOR_UNKNOWN; /* data, or what a module has given */
    if (a->backward == j->count && a->forward < j->count &&
        tensor_lives_at(j, t, j->after[a->forward].leaves))
        return TENSOR_UNKNOWN; /* what a module is called with, or left over from what it gave */
    return tensor_lives_at(j, t, a->backward) ? TENSOR_ACTIVATION : TENSOR_TEMPORARY;
}

static enum tensor_kind kind_of(struct tensor_lives *j, const struct tensor *t)
{
    if (!op_rules_has_phases(t->from->framework))
        return TENSOR_UNKNOWN;
    if (t->from->bucket)
        return TENSOR_GRADIENT;
    if (t->from->shard)
        return of_shard(j, t);
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

/* Where an optimizer makes nothing and gradients are dropped at once, they die before anything else
 * is born, as does what the last nodes worked with: those of the size of a parameter are meant.
 */
static bool is_dropped(const struct tensor_lives *j, const struct tensor *t)
{
    uint64_t known;

    return t->kind == TENSOR_TEMPORARY && j->after[t->number].leaves < j->count &&
           t->until == j->after[t->number].leaves && intmap_get(&j->parameters, t->bytes, &known);
}

/* Gradients of gradients need what the first ones were computed by, and drop it on their way: it
 * dies while they are computed. So do gradients where others are added to them in a new place.
 */
static bool is_of_graph(const struct tensor_lives *j, const struct tensor *t)
{
    uint32_t leaves = j->after[t->number].leaves;
    const struct op_stack *then;
    uint64_t known;

    if (t->kind != TENSOR_GRADIENT || t->until >= j->count || t->until <= leaves + 1 ||
        intmap_get(&j->parameters, t->bytes, &known))
        return false;
    then = j->list[t->until - 1]->from;
    return then->phase == OP_PHASE_BACKWARD &&
           j->list[t->until]->from->phase == OP_PHASE_BACKWARD &&
           !(then->node && strcmp(then->node, "AccumulateGrad") == 0);
}

/* Their sizes are those of parameters. */
static void find_gradients(struct tensor_lives *j)
{
    for (uint32_t i = 0; i < j->count; i++) {
        struct tensor *t = j->list[i];

        if (t->from->phase != OP_PHASE_BACKWARD)
            continue;
        t->kind = of_result(j, t, TENSOR_GRADIENT);
        if (is_dropped(j, t)) {
            t->kind = TENSOR_GRADIENT;
            intmap_put(&j->kinds, t->stack, t->kind);
        }
        if (is_of_graph(j, t)) {
            t->kind = TENSOR_ACTIVATION;
            intmap_put(&j->kinds, t->stack, t->kind);
        }
        if (t->kind == TENSOR_GRADIENT)
            intmap_put(&j->gradients, t->bytes, 1);
    }
}

void tensor_kinds_judge(struct tensor *const *list, size_t count)
{
    struct tensor_lives j;

    tensor_lives_read(&j, list, count);
    find_gradients(&j);
    for (size_t i = 0; i < count; i++) {
        list[i]->kind = kind_of(&j, list[i]);
        list[i]->left = j.after[i].leaves;
        list[i]->needed = j.after[i].backward;
    }
    tensor_lives_free(&j);
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
