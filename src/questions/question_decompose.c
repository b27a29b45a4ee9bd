/* question_decompose - what a deep-learning program holds memory for, at the peak or another
 * moment: parameters, gradients, activations and so on, and in which modules. The rows of each
 * table add up to the live heap.
 */
#include "base/count.h"
#include "base/memory.h"
#include "questions/decompose_over_time.h"
#include "questions/heap_cells.h"
#include "questions/tensor_parts.h"

#include <stdlib.h>

#define ROWS 30

enum { PART_BYTES, PART_PERCENT, PART_BLOCKS, PART_KIND, PART_MODULE, PART_LABEL, PART_KNOWN };

static const struct table_column part_columns[] = {
    [PART_BYTES] = {"bytes", UNIT_BYTES},   [PART_PERCENT] = {"percent", UNIT_PERCENT},
    [PART_BLOCKS] = {"blocks", UNIT_COUNT}, [PART_KIND] = {"kind", UNIT_TEXT},
    [PART_MODULE] = {"module", UNIT_TEXT},  [PART_LABEL] = {"label", UNIT_TEXT},
    [PART_KNOWN] = {"known_by", UNIT_TEXT},
};

struct state {
    struct tensor_state tensors; /* the first: see tensor_want */
    struct heap_labels labels;
    struct over_time *over_time; /* NULL: one moment is asked for */
};

/* ---- tables ---- */

static int by_bytes(const void *a, const void *b)
{
    const struct tensor_part *x = a, *y = b;

    if (x->amount.bytes != y->amount.bytes)
        return x->amount.bytes > y->amount.bytes ? -1 : 1;
    return x->owner.kind < y->owner.kind ? -1 : x->owner.kind > y->owner.kind;
}

static const char *known_text(const struct tensor_owner *o)
{
    if (o->kind >= TENSOR_KINDS)
        return NULL;
    return o->known == TENSOR_BY_WORD ? "the program" : "stacks";
}

static void put_part(struct answer *a, struct table *t, const struct tensor_part *p, uint64_t whole)
{
    struct table_cell *c = table_add(a, t);

    heap_cell_bytes(&c[PART_BYTES], &p->amount);
    heap_cell_percent(&c[PART_PERCENT], (double)p->amount.bytes, (double)whole);
    heap_cell_blocks(&c[PART_BLOCKS], &p->amount);
    if (p->owner.kind < TENSOR_PARTS_KINDS)
        cell_text(&c[PART_KIND], tensor_parts_text(p->owner.kind));
    cell_text(&c[PART_MODULE], p->owner.module);
    cell_text(&c[PART_LABEL], p->owner.label);
    cell_text(&c[PART_KNOWN], known_text(&p->owner));
}

static void put_modules(struct asked *q, struct table *t, struct tensor_parts *p, uint64_t whole)
{
    struct answer *a = q->answer;
    uint64_t most = q->options->rows ? q->options->rows : ROWS;
    size_t shown = most < p->count ? (size_t)most : p->count;
    struct tensor_part rest = {.owner.kind = TENSOR_PARTS_KINDS};

    memory_sort(p->list, p->count, sizeof(*p->list), by_bytes);
    for (size_t i = 0; i < shown; i++)
        put_part(a, t, &p->list[i], whole);
    for (size_t i = shown; i < p->count; i++)
        heap_add(&rest.amount, &p->list[i].amount);
    if (shown == p->count)
        return;
    rest.owner.module = arena_printf(a->arena, "(%zu smaller one%s)", p->count - shown,
                                     p->count - shown == 1 ? "" : "s");
    put_part(a, t, &rest, whole);
}

static void begin(struct asked *q)
{
    struct state *s = q->state;

    s->labels.names = &q->recorded->names;
    recorded_take_first(q->recorded, heap_labels_record, &s->labels);
    if (!q->options->over_time)
        return;
    s->over_time = memory_zeroed(sizeof(*s->over_time));
    over_time_begin(q, s->over_time);
}

static void again(struct asked *q)
{
    struct state *s = q->state;

    tensor_want(q, &s->tensors);
    s->tensors.tensors.shadows = true;
    if (s->over_time)
        over_time_again(q, s->over_time, &s->tensors);
    else if (q->recorded->heap.any)
        heap_want_asked(&q->recorded->heap, HEAP_AT_PEAK);
}

static void put_one(struct asked *q, struct state *s, struct table *facts, struct table *kinds)
{
    struct answer *a = q->answer;
    struct heap *h = &q->recorded->heap;
    struct heap_amount sum = heap_at_asked(h, HEAP_AT_PEAK);
    struct tensors_moment moment = tensor_moment(h, HEAP_AT_PEAK);
    struct tensor_parts p = {.labels = &s->labels};

    tensor_moment_facts(a, facts, h, &sum);
    tensor_parts_sum(&p, q, &s->tensors, &moment);
    tensor_parts_put(a, kinds, &p, sum.bytes);
    put_modules(q, answer_add(a, "modules", TABLE_ROWS, part_columns, COUNT(part_columns)), &p,
                sum.bytes);
    tensor_parts_free(&p);
}

static int run(struct asked *q, struct err *err)
{
    struct answer *a = q->answer;
    struct state *s = q->state;
    struct table *facts = answer_facts(a, "facts");
    struct table *kinds = s->over_time ? facts : tensor_parts_table(a);

    (void)err;
    if (!tensor_begin(q, &s->tensors, kinds))
        ;
    else if (s->over_time)
        over_time_put(q, s->over_time);
    else
        put_one(q, s, facts, kinds);
    if (s->over_time)
        over_time_free(s->over_time);
    free(s->over_time);
    heap_labels_free(&s->labels);
    tensor_end(&s->tensors);
    return 0;
}

const struct question question_decompose = {
    .name = "decompose",
    .summary = "what tensors are for, at the peak: parameters, gradients, activations ...",
    .group = QUESTION_OF_TENSORS,
    .about =
        "decompose tells what a tensor is for by the phase of the program in which it was born and by how long it lived; the rows add up to the live heap. For modules it shows the classes in which a tensor was made, such as Net/Block/Linear, or the path that the program has given (tidemark.torch.attach, tidemark.describe); what the program says takes precedence, and the column known_by says so. Framework: other memory that a framework allocates; workspace: what its libraries of kernels work in; other: all else. With --over-time it tells all kinds at many moments: the highest of each of 60 equal stretches of the time (--limit N: of N), or with --per-step of each step; with --by module also in which modules. Each row is what --at shows for that time.",
    .reads = RECORDED_HEAP | RECORDED_MOMENTS,
    .of_lives = true,
    .of_moment = true,
    .state = sizeof(struct state),
    .begin = begin,
    .again = again,
    .run = run,
};
