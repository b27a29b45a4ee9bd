/* question_decompose - what a deep-learning program holds memory for, at the peak or another moment:
 * parameters, gradients, activations and so on, and in which modules. The rows of each table add up to
 * the live heap.
 */
#include "base/count.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "questions/heap_cells.h"
#include "questions/tensor_answer.h"

#include <inttypes.h>
#include <stdlib.h>

#define ROWS 30

/* After the kinds of tensors: what is none. */
enum { WORKSPACE = TENSOR_KINDS, FRAMEWORK, OTHER, KINDS };

enum { KIND, BYTES, PERCENT, BLOCKS, ERROR_PERCENT };

static const struct table_column kind_columns[] = {
    [KIND] = {"kind", UNIT_TEXT},
    [BYTES] = {"bytes", UNIT_BYTES},
    [PERCENT] = {"percent", UNIT_PERCENT},
    [BLOCKS] = {"blocks", UNIT_COUNT},
    [ERROR_PERCENT] = {"error_percent", UNIT_PERCENT, .detail = true},
};

enum { MODULE_BYTES, MODULE_PERCENT, MODULE_BLOCKS, MODULE_KIND, MODULE_MODULE };

static const struct table_column module_columns[] = {
    [MODULE_BYTES] = {"bytes", UNIT_BYTES},   [MODULE_PERCENT] = {"percent", UNIT_PERCENT},
    [MODULE_BLOCKS] = {"blocks", UNIT_COUNT}, [MODULE_KIND] = {"kind", UNIT_TEXT},
    [MODULE_MODULE] = {"module", UNIT_TEXT},
};

struct part {
    struct heap_amount amount;
    int kind;
    const char *module;
};

struct parts {
    struct part *list;
    size_t count, room;
    struct intmap places;
    struct heap_amount of[KINDS];
};

struct state {
    struct tensor_state tensors;
};

static const char *kind_text(int kind)
{
    switch (kind) {
    case WORKSPACE:
        return "workspace";
    case FRAMEWORK:
        return "framework";
    case OTHER:
        return "other";
    default:
        return tensor_kind_text((enum tensor_kind)kind);
    }
}

static void add(struct parts *p, int kind, const char *module, const struct heap_amount *amount)
{
    uint64_t key = hash_mix(hash_number((uint64_t)kind + 1), (uintptr_t)module), place;

    if (!amount->bytes)
        return;
    if (!intmap_get(&p->places, key, &place)) {
        memory_fit(p->list, p->room, p->count + 1);
        place = p->count++;
        p->list[place] = (struct part){.kind = kind, .module = module};
        intmap_put(&p->places, key, place);
    }
    heap_add(&p->list[place].amount, amount);
    heap_add(&p->of[kind], amount);
}

/* ---- the tensors of a stack ---- */

struct held { /* of one stack, by kind */
    uint64_t bytes[TENSOR_KINDS], blocks[TENSOR_KINDS], sum;
};

static struct held *sum_tensors(const struct tensor_state *s, const struct tensors_moment *m,
                                struct intmap *places, struct arena *a)
{
    const struct tensors *t = &s->tensors;
    struct held *held = NULL;
    size_t count = 0, room = 0;

    for (size_t i = 0; i < t->count; i++) {
        uint64_t at;

        if (!tensors_alive(m, &t->list[i]))
            continue;
        if (!intmap_get(places, t->list[i].stack, &at)) {
            at = count++;
            arena_fit(a, held, room, count);
            held[at] = (struct held){0};
            intmap_put(places, t->list[i].stack, at);
        }
        memory_is_there(held);
        held[at].bytes[t->list[i].kind] += t->list[i].bytes;
        held[at].blocks[t->list[i].kind]++;
        held[at].sum += t->list[i].bytes;
    }
    return held;
}

static struct heap_amount share(const struct heap_amount *of, double part)
{
    return (struct heap_amount){text_rounded((double)of->bytes * part),
                                text_rounded((double)of->milliblocks * part), of->variance * part,
                                of->of_blocks * part};
}

/* A stack's amount is split as its tensors are: what rounding or a limit leaves is the largest's. */
static void split(struct parts *p, const struct heap_amount *all, const struct op_stack *from,
                  const struct held *held)
{
    struct heap_amount rest = *all;
    int largest = 0;

    for (int kind = 0; kind < TENSOR_KINDS; kind++)
        largest = held->bytes[kind] > held->bytes[largest] ? kind : largest;
    for (int kind = 0; kind < TENSOR_KINDS; kind++) {
        struct heap_amount part = share(all, (double)held->bytes[kind] / (double)held->sum);

        if (kind == largest || !held->bytes[kind])
            continue;
        add(p, kind, from->modules, &part);
        heap_subtract(&rest, &part);
    }
    add(p, largest, from->modules, &rest);
}

static int kind_of_rest(const struct op_stack *from)
{
    if (from->tensor)
        return TENSOR_UNKNOWN;
    return from->workspace ? WORKSPACE : from->framework ? FRAMEWORK : OTHER;
}

static void sum_up(struct parts *p, struct asked *q, struct state *s)
{
    struct heap *h = &q->recorded->heap;
    struct tensors_moment m = tensor_moment(h, HEAP_AT_PEAK);
    struct intmap places = {0};
    const struct held *held = sum_tensors(&s->tensors, &m, &places, q->answer->arena);

    for (size_t i = 0; i < h->stack_count; i++) {
        const struct heap_stack *stack = &h->stacks[i];
        const struct op_stack *from = op_stacks_get(&s->tensors.stacks, stack->number);
        struct heap_amount all = heap_stack_at(h, stack);
        uint64_t at;

        if (intmap_get(&places, stack->number, &at) && held[at].sum)
            split(p, &all, from, &held[at]);
        else
            add(p, kind_of_rest(from), from->tensor ? from->modules : NULL, &all);
    }
    intmap_free(&places);
}

/* ---- tables ---- */

static void put_kinds(struct answer *a, struct table *t, const struct parts *p, uint64_t whole)
{
    static const unsigned char order[] = {TENSOR_PARAMETER,  TENSOR_GRADIENT,  TENSOR_OPTIMIZER,
                                          TENSOR_ACTIVATION, TENSOR_INPUT,     TENSOR_BUFFER,
                                          TENSOR_CACHE,      TENSOR_TEMPORARY, TENSOR_UNKNOWN,
                                          WORKSPACE,         FRAMEWORK,        OTHER};

    for (int i = 0; i < COUNT(order); i++) {
        const struct heap_amount *of = &p->of[order[i]];
        struct table_cell *c = table_add(a, t);

        cell_text(&c[KIND], kind_text(order[i]));
        heap_cell_bytes(&c[BYTES], of);
        heap_cell_percent(&c[PERCENT], (double)of->bytes, (double)whole);
        heap_cell_blocks(&c[BLOCKS], of);
        heap_cell_error(&c[ERROR_PERCENT], of);
    }
}

static int by_bytes(const void *a, const void *b)
{
    const struct part *x = a, *y = b;

    if (x->amount.bytes != y->amount.bytes)
        return x->amount.bytes > y->amount.bytes ? -1 : 1;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

static void put_part(struct answer *a, struct table *t, const struct part *p, uint64_t whole)
{
    struct table_cell *c = table_add(a, t);

    heap_cell_bytes(&c[MODULE_BYTES], &p->amount);
    heap_cell_percent(&c[MODULE_PERCENT], (double)p->amount.bytes, (double)whole);
    heap_cell_blocks(&c[MODULE_BLOCKS], &p->amount);
    if (p->kind < KINDS)
        cell_text(&c[MODULE_KIND], kind_text(p->kind));
    cell_text(&c[MODULE_MODULE], p->module);
}

static void put_modules(struct asked *q, struct table *t, struct parts *p, uint64_t whole)
{
    struct answer *a = q->answer;
    uint64_t most = q->options->rows ? q->options->rows : ROWS;
    size_t shown = most < p->count ? (size_t)most : p->count;
    struct part rest = {.kind = KINDS};

    memory_sort(p->list, p->count, sizeof(*p->list), by_bytes);
    for (size_t i = 0; i < shown; i++)
        put_part(a, t, &p->list[i], whole);
    for (size_t i = shown; i < p->count; i++)
        heap_add(&rest.amount, &p->list[i].amount);
    if (shown == p->count)
        return;
    rest.module = arena_printf(a->arena, "(%zu smaller one%s)", p->count - shown,
                               p->count - shown == 1 ? "" : "s");
    put_part(a, t, &rest, whole);
}

static void again(struct asked *q)
{
    struct state *s = q->state;

    tensor_want(q, &s->tensors);
    if (q->recorded->heap.any)
        heap_want_asked(&q->recorded->heap, HEAP_AT_PEAK);
}

static int run(struct asked *q, struct err *err)
{
    struct answer *a = q->answer;
    struct heap *h = &q->recorded->heap;
    struct state *s = q->state;
    struct table *facts = answer_facts(a, "facts");
    struct table *kinds = answer_add(a, "kinds", TABLE_ROWS, kind_columns, COUNT(kind_columns));
    struct parts p = {0};
    struct heap_amount sum;

    (void)err;
    if (tensor_begin(q, &s->tensors, kinds)) {
        sum = heap_at_asked(h, HEAP_AT_PEAK);
        tensor_moment_facts(a, facts, h, &sum);
        sum_up(&p, q, s);
        put_kinds(a, kinds, &p, sum.bytes);
        put_modules(q, answer_add(a, "modules", TABLE_ROWS, module_columns, COUNT(module_columns)),
                    &p, sum.bytes);
    }
    free(p.list);
    intmap_free(&p.places);
    tensor_end(&s->tensors);
    return 0;
}

const struct question question_decompose = {
    .name = "decompose",
    .summary = "what tensors are for, at the peak: parameters, gradients, activations ...",
    .group = QUESTION_OF_TENSORS,
    .about =
        "decompose tells what a tensor is for by the phase of the program in which it was born and by how long it lived; the rows add up to the live heap. Of modules it shows the classes, as Net/Block/Linear, in which a tensor was made. Framework: other memory that a framework allocates; workspace: what its libraries of kernels work in; other: all else.",
    .reads = RECORDED_HEAP,
    .state = sizeof(struct state),
    .again = again,
    .run = run,
};
