/* tensor_answer - see tensor_answer.h. */
#include "questions/tensor_answer.h"

#include "model/covered.h"
#include "model/tensor_told.h"
#include "questions/heap_cells.h"

#include <inttypes.h>

void tensor_want(struct asked *q, struct tensor_state *s)
{
    struct recorded *r = q->recorded;

    if (!r->heap.any)
        return;
    op_stacks_start(&s->stacks, &r->frames, &r->arena);
    tensors_want(&s->tensors, &r->heap, &s->stacks);
    recorded_take_again(r, tensor_told_take, &s->tensors, heap_until(&r->selection));
}

/* The framework of all tensors, if its frames say no more than that they are tensors; NULL. */
static const char *silent_framework(const struct tensors *t)
{
    const char *framework = t->list[0].from->framework;

    for (size_t i = 0; i < t->count; i++)
        if (t->list[i].from->framework != framework || op_rules_has_phases(framework))
            return NULL;
    return framework;
}

bool tensor_begin(struct asked *q, struct tensor_state *s, struct table *t)
{
    struct heap *h = &q->recorded->heap;
    const char *silent;

    if (!heap_begin(h, q->answer, t))
        return false;
    if (!s->tensors.count) {
        t->note = "The trace has no tensors: no stack of an allocation has frames of a framework "
                  "that is known. See docs/DEEP-LEARNING.md.";
        return false;
    }
    if (h->sampled && !covered_whole(h->run))
        t->note =
            "Small tensors are estimated from samples, as --sample asks for: without it, or with "
            "--exact=4KiB, every one of 4 KiB and more is recorded.";
    if (s->tensors.left_out)
        t->note = arena_printf(q->answer->arena,
                               "%" PRIu64 " tensors are left out: there are too many.",
                               s->tensors.left_out);
    silent = silent_framework(&s->tensors);
    if (silent)
        t->note = arena_printf(q->answer->arena,
                               "Frames of %s name no operator and no phase: what its tensors are "
                               "for is not known, nor the line of those that its own threads make.",
                               silent);
    tensor_kinds_all(&s->tensors, q->answer->arena);
    return true;
}

void tensor_end(struct tensor_state *s)
{
    tensors_free(&s->tensors);
    op_stacks_free(&s->stacks);
}

struct tensors_moment tensor_moment(const struct heap *h, enum heap_moment standard)
{
    struct tensors_moment m = {h, standard, h->options.at_ns};

    if (h->options.at == SELECTION_AT_PEAK)
        m.moment = HEAP_AT_PEAK;
    else if (h->options.at == SELECTION_AT_END)
        m.moment = HEAP_AT_END;
    else if (h->options.at == SELECTION_AT_TIME)
        m.moment = HEAP_AT_TIME;
    return m;
}

struct tensors_moment tensor_peak_moment(const struct heap *h)
{
    if (h->options.at_peak)
        return (struct tensors_moment){h, HEAP_AT_TIME, h->options.at_ns};
    return (struct tensors_moment){h, HEAP_AT_PEAK, 0};
}

void tensor_peak_want(struct heap *h)
{
    struct tensors_moment m = tensor_peak_moment(h);

    if (h->any)
        heap_want(h, m.moment, m.time_ns);
}

struct heap_amount tensor_peak_at(struct heap *h)
{
    struct tensors_moment m = tensor_peak_moment(h);

    return heap_at(h, m.moment, m.time_ns);
}

const char *tensor_peak_basis(const struct heap *h, const struct heap_amount *peak)
{
    return h->options.at_peak ? heap_basis(h, peak) : heap_peak_basis(h);
}

void tensor_moment_facts(struct answer *a, struct table *facts, const struct heap *h,
                         const struct heap_amount *sum)
{
    struct tensors_moment m = tensor_moment(h, HEAP_AT_PEAK);
    bool peak = m.moment == HEAP_AT_PEAK;

    heap_cell_bytes(
        table_fact(a, facts, peak || h->options.at_peak ? "peak_heap" : "live_heap", UNIT_BYTES),
        sum);
    cell_text(table_fact(a, facts, "basis", UNIT_TEXT),
              peak ? heap_peak_basis(h) : heap_basis(h, sum));
    cell_number(table_fact(a, facts, "time", UNIT_NS), peak                       ? h->peak_ns
                                                       : m.moment == HEAP_AT_TIME ? m.time_ns
                                                                                  : h->to_ns);
}
