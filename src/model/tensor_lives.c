/* tensor_lives - see tensor_lives.h. */
#include "model/tensor_lives.h"

#include "base/memory.h"

#include <stdlib.h>

static enum op_phase phase_at(const struct tensor_lives *j, uint32_t i)
{
    return j->list[i]->from->phase;
}

static bool is_backward(enum op_phase p)
{
    return p == OP_PHASE_BACKWARD || p == OP_PHASE_RECOMPUTE;
}

bool tensor_is_joined(const struct tensor *t)
{
    return op_rules_is_joining(t->from->op) || op_rules_is_joining(t->from->called);
}

bool tensor_lives_at(const struct tensor_lives *j, const struct tensor *t, uint32_t at)
{
    return at < j->count ? t->until > at : t->until >= j->count;
}

/* Phases in which gradients are computed are one, with what is computed again in between. */
static bool is_same_run(enum op_phase a, enum op_phase b)
{
    return a == b || (is_backward(a) && is_backward(b));
}

static void look_ahead(struct tensor_lives *j)
{
    struct tensor_after next = {
        .forward = j->count, .backward = j->count, .leaves = j->count, .joined = j->count};
    struct intmap seen = {0};

    for (uint32_t i = j->count; i-- > 0;) {
        struct tensor_after *a = &j->after[i];
        uint64_t same = j->count;

        if (i + 1 < j->count && !is_same_run(phase_at(j, i), phase_at(j, i + 1)))
            next.leaves = i + 1;
        intmap_get(&seen, j->list[i]->stack, &same);
        intmap_put(&seen, j->list[i]->stack, i);
        *a = next;
        a->same = (uint32_t)same;
        if (tensor_is_joined(j->list[i]))
            next.joined = i;
        if (phase_at(j, i) == OP_PHASE_FORWARD)
            next.forward = j->called = i;
        if (phase_at(j, i) == OP_PHASE_BACKWARD)
            next.backward = i;
    }
    intmap_free(&seen);
}

static void count_cycles(struct tensor_lives *j)
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

/* A parameter begins blank. When its module is moved or given another dtype, a copy takes its
 * place: what it is made from dies before anything else is born.
 */
static void find_blanks(struct tensor_lives *j)
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

bool tensor_lives_on(const struct tensor_lives *j, const struct tensor *t)
{
    uint32_t now = j->after[t->number].cycle, end = j->cycles;

    if (t->until < j->count)
        end = j->after[t->until - 1].cycle; /* it is not the first that was born */
    return end >= now + TENSOR_LASTS || (j->cycles == 1 && end > now && t->until >= j->count);
}

bool tensor_is_born_once(const struct tensor_lives *j, const struct tensor *t)
{
    uint64_t cycles = 0;

    intmap_get(&j->cycles_of, t->stack, &cycles);
    return cycles >> 32 == (cycles & UINT32_MAX);
}

static uint32_t first_of_stack(const struct tensor_lives *j, const struct tensor *t)
{
    uint64_t first = t->number;

    intmap_get(&j->firsts, t->stack, &first);
    return (uint32_t)first;
}

bool tensor_is_born_before(const struct tensor_lives *j, const struct tensor *t)
{
    return first_of_stack(j, t) < t->number;
}

bool tensor_is_of_no_call(const struct tensor_lives *j, const struct tensor *t)
{
    return first_of_stack(j, t) < j->called;
}

bool tensor_is_of_inference(const struct tensor_lives *j, const struct tensor *t)
{
    return j->after[first_of_stack(j, t)].backward == j->count;
}

void tensor_lives_read(struct tensor_lives *j, struct tensor *const *list, size_t count)
{
    *j = (struct tensor_lives){.list = list, .count = (uint32_t)count, .called = (uint32_t)count};
    j->after = memory_zeroed((count + 1) * sizeof(*j->after));
    look_ahead(j);
    count_cycles(j);
    find_blanks(j);
}

void tensor_lives_free(struct tensor_lives *j)
{
    free(j->after);
    intmap_free(&j->gradients);
    intmap_free(&j->parameters);
    intmap_free(&j->firsts);
    intmap_free(&j->kinds);
    intmap_free(&j->cycles_of);
}
