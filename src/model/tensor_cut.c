/* tensor_cut - see tensor_cut.h. */
#include "model/tensor_cut.h"

#include "base/hash.h"

#define STACK 1
#define TRAINS 2
#define GRADIENT 3

static uint64_t key(const struct tensor *t, int of)
{
    return hash_mix(hash_mix(hash_mix((uint64_t)of, t->place), of == TRAINS ? 0 : t->stack),
                    of == GRADIENT ? t->bytes : 0);
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

/* In a backward phase that did not end: what others of its stack and size were after it. */
static void judge_gradient(struct intmap *known, const struct tensors *t, struct tensor *of,
                           const struct tensors_moment *m)
{
    uint64_t value;

    if (of->left < t->born[of->place - 1]) {
        if (of->kind == TENSOR_GRADIENT)
            intmap_put(known, key(of, GRADIENT), 1);
    } else if (of->kind == TENSOR_TEMPORARY && tensors_alive(m, of) &&
               intmap_get(known, key(of, GRADIENT), &value)) {
        of->kind = TENSOR_GRADIENT;
    }
}

void tensor_cut_judge(struct tensors *t, const struct tensors_moment *m)
{
    struct intmap known = {0};

    for (size_t i = 0; i < t->count; i++) {
        struct tensor *of = &t->list[i];

        if (of->from->phase == OP_PHASE_BACKWARD) {
            intmap_put(&known, key(of, TRAINS), 1);
            judge_gradient(&known, t, of, m);
        } else if (is_forward(of) && is_known(t, of))
            intmap_put(&known, key(of, STACK), of->kind);
        else if (is_forward(of) && is_open(of) && tensors_alive(m, of))
            judge(&known, of);
    }
    intmap_free(&known);
}
