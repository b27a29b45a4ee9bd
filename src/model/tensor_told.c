/* tensor_told - see tensor_told.h. */
#include "model/tensor_told.h"

#include "model/heap_pass.h"
#include "model/names.h"

#include <string.h>

static enum tensor_kind kind_named(const char *text)
{
    for (int kind = TENSOR_UNKNOWN + 1; kind < TENSOR_KINDS; kind++)
        if (!strcmp(text, tensor_kind_text((enum tensor_kind)kind)))
            return (enum tensor_kind)kind;
    return TENSOR_UNKNOWN;
}

/* What goes through a model may be a view of what it has. */
static bool is_passing(enum tensor_kind kind)
{
    return kind == TENSOR_INPUT || kind == TENSOR_ACTIVATION;
}

static void tell(struct tensor *x, const char *what, const char *name)
{
    enum tensor_kind kind = kind_named(what);
    bool kept = !strcmp(what, TENSOR_TOLD_KEPT);

    if (kept)
        x->kept = true;
    else if (!kind)
        x->words = what;
    else if (!x->told || !is_passing(kind))
        x->told = kind;
    else
        return;
    if (name && *name && (!kept || !x->name))
        x->name = name;
}

void tensor_told_take(void *tensors, const struct trace_event *ev)
{
    struct tensors *t = tensors;
    const struct names *names = t->heap->frames->names;
    const struct heap_process *p;
    const char *what;
    struct tensor *x;
    uint32_t place;

    if (ev->kind != TRACE_DESCRIBED || ev->time_ns > t->heap->pass->to_ns)
        return;
    p = heap_process_of_thread(t->heap, ev->described.thread);
    what = names_get(names, ev->described.what);
    if (!p || !what)
        return;
    place = heap_place_of(t->heap, p);
    x = ev->described.info ? tensors_of_info(t, place, ev->described.info)
                           : tensors_at(t, place, ev->described.address);
    if (x)
        tell(x, what, names_get(names, ev->described.name));
}

static bool is_kept_activation(const struct tensor *t)
{
    return t->kept && (t->kind == TENSOR_TEMPORARY || t->kind == TENSOR_UNKNOWN ||
                       t->kind == TENSOR_ACTIVATION);
}

/* What one model computes stays that when another is called with it, and so does a cache with which
 * it is called again. */
static bool is_told(const struct tensor *t)
{
    return t->told && (t->told != TENSOR_INPUT ||
                       (t->from->phase != OP_PHASE_FORWARD &&
                        t->from->phase != OP_PHASE_RECOMPUTE && t->kind != TENSOR_CACHE));
}

void tensor_told_apply(struct tensor *t)
{
    if (is_told(t))
        t->kind = t->told;
    else if (is_kept_activation(t))
        t->kind = TENSOR_ACTIVATION;
}

enum tensor_known tensor_told_how(const struct tensor *t)
{
    return is_told(t) || is_kept_activation(t) ? TENSOR_BY_WORD : TENSOR_BY_STACK;
}
