/* tensor_cut - see tensor_cut.h. */
#include "model/tensor_cut.h"

#include "base/hash.h"

#define STACK 1
#define TRAINS 2

static uint64_t key(const struct tensor *t, int of)
{
    return hash_mix(hash_mix((uint64_t)of, t->place), of == STACK ? t->stack : 0);
}

static bool is_forward(const struct tensor *t)
{
    return t->from->phase == OP_PHASE_FORWARD || t->from->phase == OP_PHASE_RECOMPUTE;
}

/* Gradients were computed after it: so its kind is known by its life. */
static bool is_known(const struct tensors *t, const struct tensor *of)
{
    return of->needed < t->born[of->place - 1];
}

/* Without gradients after it, what is put together from others looks as a cache does. */
static bool is_open(const struct tensor *t)
{
    return t->kind == TENSOR_TEMPORARY || t->kind == TENSOR_CACHE;
}

static void judge(const struct intmap *known, struct tensor *t)
{
    uint64_t value;

    if (intmap_get(known, key(t, STACK), &value))
        t->kind = (enum tensor_kind)value;
    else if (t->kind == TENSOR_TEMPORARY && intmap_get(known, key(t, TRAINS), &value))
        t->kind = TENSOR_ACTIVATION;
}

void tensor_cut_judge(struct tensors *t, const struct tensors_moment *m)
{
    struct intmap known = {0};

    for (size_t i = 0; i < t->count; i++) {
        struct tensor *of = &t->list[i];

        if (of->from->phase == OP_PHASE_BACKWARD)
            intmap_put(&known, key(of, TRAINS), 1);
        else if (is_forward(of) && is_known(t, of))
            intmap_put(&known, key(of, STACK), of->kind);
        else if (is_forward(of) && is_open(of) && tensors_alive(m, of))
            judge(&known, of);
    }
    intmap_free(&known);
}
