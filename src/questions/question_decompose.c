/* question_decompose - what a deep-learning program holds memory for, at the peak or another moment:
 * parameters, gradients, activations and so on, and in which modules. The rows of each table add up to
 * the live heap.
 */
#include "base/count.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/heap_labels.h"
#include "model/tensor_told.h"
#include "questions/heap_cells.h"
#include "questions/tensor_answer.h"

#include <inttypes.h>
#include <stdlib.h>

#define ROWS 30

/* After the kinds of tensors: what is none. */
enum { WORKSPACE = TENSOR_KINDS, FRAMEWORK, OTHER, KINDS };

enum { KIND, BYTES, PERCENT, BLOCKS, TOLD, ERROR_PERCENT };

static const struct table_column kind_columns[] = {
    [KIND] = {"kind", UNIT_TEXT},
    [BYTES] = {"bytes", UNIT_BYTES},
    [PERCENT] = {"percent", UNIT_PERCENT},
    [BLOCKS] = {"blocks", UNIT_COUNT},
    [TOLD] = {"told", UNIT_BYTES}, /* of it: by the program's own word */
    [ERROR_PERCENT] = {"error_percent", UNIT_PERCENT, .detail = true},
};

enum { PART_BYTES, PART_PERCENT, PART_BLOCKS, PART_KIND, PART_MODULE, PART_LABEL, PART_KNOWN };

static const struct table_column part_columns[] = {
    [PART_BYTES] = {"bytes", UNIT_BYTES},   [PART_PERCENT] = {"percent", UNIT_PERCENT},
    [PART_BLOCKS] = {"blocks", UNIT_COUNT}, [PART_KIND] = {"kind", UNIT_TEXT},
    [PART_MODULE] = {"module", UNIT_TEXT},  [PART_LABEL] = {"label", UNIT_TEXT},
    [PART_KNOWN] = {"known_by", UNIT_TEXT},
};

/* Whose memory it is, from the general to the particular: what for, in which module, by which words
 * of the program; and how that is known. Equal texts are one.
 */
struct owner {
    int kind;
    enum tensor_known known;
    const char *module, *label;
};

struct part {
    struct owner owner;
    struct heap_amount amount;
};

struct parts {
    struct part *list;
    size_t count, room;
    struct intmap places;
    struct heap_amount of[KINDS], told[KINDS];
};

struct state {
    struct tensor_state tensors; /* the first: see tensor_want */
    struct heap_labels labels;
    const char *label_texts[HEAP_LABEL_SETS + 1];
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

static uint64_t key_of(uint64_t key, const struct owner *o)
{
    key = hash_mix(hash_mix(key, (uint64_t)o->kind), o->known);
    return hash_mix(hash_mix(key, (uintptr_t)o->module), (uintptr_t)o->label);
}

static void add(struct parts *p, const struct owner *o, const struct heap_amount *amount)
{
    uint64_t key = key_of(1, o), place;

    if (!amount->bytes)
        return;
    if (!intmap_get(&p->places, key, &place)) {
        memory_fit(p->list, p->room, p->count + 1);
        place = p->count++;
        p->list[place] = (struct part){.owner = *o};
        intmap_put(&p->places, key, place);
    }
    heap_add(&p->list[place].amount, amount);
    heap_add(&p->of[o->kind], amount);
    if (o->known == TENSOR_BY_WORD)
        heap_add(&p->told[o->kind], amount);
}

/* ---- the tensors of a stack ---- */

struct group { /* those of one owner */
    struct owner owner;
    uint64_t bytes, blocks;
    uint32_t next; /* of the stack: 1 + its place; 0: it is the last */
};

struct held {
    struct group *groups;
    size_t count, room;
    struct intmap firsts; /* stack -> 1 + place of its first group */
    struct intmap places; /* stack and owner -> place */
};

/* "phase=fit, request=7", of a set; NULL: it is none. */
static const char *label_text(struct state *s, uint64_t context, struct arena *a)
{
    unsigned int set = heap_labels_of_context(&s->labels, context);
    const struct heap_label_set *l = &s->labels.sets[set];
    const char **text = &s->label_texts[set];

    if (*text)
        return *text;
    for (unsigned int i = 0; i < l->count; i++)
        *text = arena_printf(a, "%s%s%s=%s", *text ? *text : "", *text ? ", " : "",
                             l->pairs[i].key, l->pairs[i].value);
    return *text;
}

static struct owner owner_of(struct state *s, const struct tensor *t, struct arena *a)
{
    return (struct owner){.kind = (int)t->kind,
                          .known = tensor_told_how(t),
                          .module = t->name ? t->name : t->from->modules,
                          .label = t->words ? t->words : label_text(s, t->context, a)};
}

static void hold(struct held *h, const struct tensor *t, const struct owner *o, struct arena *a)
{
    uint64_t key = key_of(hash_mix(2, t->stack), o), at, first = 0;

    if (!intmap_get(&h->places, key, &at)) {
        at = h->count++;
        arena_fit(a, h->groups, h->room, h->count);
        intmap_get(&h->firsts, t->stack, &first);
        h->groups[at] = (struct group){.owner = *o, .next = (uint32_t)first};
        intmap_put(&h->firsts, t->stack, at + 1);
        intmap_put(&h->places, key, at);
    }
    memory_is_there(h->groups);
    h->groups[at].bytes += t->bytes;
    h->groups[at].blocks++;
}

static void hold_all(struct held *h, struct state *s, const struct tensors_moment *m,
                     struct arena *a)
{
    const struct tensors *t = &s->tensors.tensors;

    for (size_t i = 0; i < t->count; i++) {
        struct owner o;

        if (!tensors_alive(m, &t->list[i]))
            continue;
        o = owner_of(s, &t->list[i], a);
        hold(h, &t->list[i], &o, a);
    }
}

/* The part of a group in what all of them have. */
static struct heap_amount share(const struct heap_amount *of, const struct group *g,
                                const struct group *all)
{
    double part = (double)g->bytes / (double)all->bytes;
    double blocks = (double)g->blocks / (double)all->blocks;

    return (struct heap_amount){text_rounded((double)of->bytes * part),
                                text_rounded((double)of->milliblocks * blocks),
                                of->variance * part, of->of_blocks * blocks};
}

/* A stack's amount is split as its tensors are: what rounding or a limit leaves is the largest's. */
static void split(struct parts *p, const struct heap_amount *all, const struct held *h,
                  uint64_t first)
{
    const struct group *largest = &h->groups[first - 1];
    struct heap_amount rest = *all;
    struct group sum = {0};

    for (uint64_t at = first; at; at = h->groups[at - 1].next) {
        const struct group *g = &h->groups[at - 1];

        largest = g->bytes > largest->bytes ? g : largest;
        sum.bytes += g->bytes;
        sum.blocks += g->blocks;
    }
    for (uint64_t at = first; sum.bytes && at; at = h->groups[at - 1].next) {
        const struct group *g = &h->groups[at - 1];
        struct heap_amount part = share(all, g, &sum);

        if (g == largest)
            continue;
        add(p, &g->owner, &part);
        heap_subtract(&rest, &part);
    }
    add(p, &largest->owner, &rest);
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
    struct held held = {0};

    hold_all(&held, s, &m, q->answer->arena);
    for (size_t i = 0; i < h->stack_count; i++) {
        const struct heap_stack *stack = &h->stacks[i];
        const struct op_stack *from = op_stacks_get(&s->tensors.stacks, stack->number);
        const struct owner rest = {.kind = kind_of_rest(from),
                                   .module = from->tensor ? from->modules : NULL};
        struct heap_amount all = heap_stack_at(h, stack);
        uint64_t first;

        if (intmap_get(&held.firsts, stack->number, &first))
            split(p, &all, &held, first);
        else
            add(p, &rest, &all);
    }
    intmap_free(&held.firsts);
    intmap_free(&held.places);
}

/* ---- tables ---- */

static bool any_told(const struct parts *p)
{
    for (int i = 0; i < KINDS; i++)
        if (p->told[i].bytes)
            return true;
    return false;
}

static void put_kinds(struct answer *a, struct table *t, const struct parts *p, uint64_t whole)
{
    static const unsigned char order[] = {TENSOR_PARAMETER,  TENSOR_GRADIENT,  TENSOR_OPTIMIZER,
                                          TENSOR_ACTIVATION, TENSOR_INPUT,     TENSOR_BUFFER,
                                          TENSOR_CACHE,      TENSOR_TEMPORARY, TENSOR_UNKNOWN,
                                          WORKSPACE,         FRAMEWORK,        OTHER};
    bool told = any_told(p);

    for (int i = 0; i < COUNT(order); i++) {
        const struct heap_amount *of = &p->of[order[i]];
        struct table_cell *c = table_add(a, t);

        cell_text(&c[KIND], kind_text(order[i]));
        heap_cell_bytes(&c[BYTES], of);
        heap_cell_percent(&c[PERCENT], (double)of->bytes, (double)whole);
        heap_cell_blocks(&c[BLOCKS], of);
        if (told && order[i] < TENSOR_KINDS)
            heap_cell_bytes(&c[TOLD], &p->told[order[i]]);
        heap_cell_error(&c[ERROR_PERCENT], of);
    }
}

static int by_bytes(const void *a, const void *b)
{
    const struct part *x = a, *y = b;

    if (x->amount.bytes != y->amount.bytes)
        return x->amount.bytes > y->amount.bytes ? -1 : 1;
    return x->owner.kind < y->owner.kind ? -1 : x->owner.kind > y->owner.kind;
}

static const char *known_text(const struct owner *o)
{
    if (o->kind >= TENSOR_KINDS)
        return NULL;
    return o->known == TENSOR_BY_WORD ? "the program" : "stacks";
}

static void put_part(struct answer *a, struct table *t, const struct part *p, uint64_t whole)
{
    struct table_cell *c = table_add(a, t);

    heap_cell_bytes(&c[PART_BYTES], &p->amount);
    heap_cell_percent(&c[PART_PERCENT], (double)p->amount.bytes, (double)whole);
    heap_cell_blocks(&c[PART_BLOCKS], &p->amount);
    if (p->owner.kind < KINDS)
        cell_text(&c[PART_KIND], kind_text(p->owner.kind));
    cell_text(&c[PART_MODULE], p->owner.module);
    cell_text(&c[PART_LABEL], p->owner.label);
    cell_text(&c[PART_KNOWN], known_text(&p->owner));
}

static void put_modules(struct asked *q, struct table *t, struct parts *p, uint64_t whole)
{
    struct answer *a = q->answer;
    uint64_t most = q->options->rows ? q->options->rows : ROWS;
    size_t shown = most < p->count ? (size_t)most : p->count;
    struct part rest = {.owner.kind = KINDS};

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
        put_modules(q, answer_add(a, "modules", TABLE_ROWS, part_columns, COUNT(part_columns)), &p,
                    sum.bytes);
    }
    free(p.list);
    intmap_free(&p.places);
    heap_labels_free(&s->labels);
    tensor_end(&s->tensors);
    return 0;
}

const struct question question_decompose = {
    .name = "decompose",
    .summary = "what tensors are for, at the peak: parameters, gradients, activations ...",
    .group = QUESTION_OF_TENSORS,
    .about =
        "decompose tells what a tensor is for by the phase of the program in which it was born and by how long it lived; the rows add up to the live heap. Of modules it shows the classes, as Net/Block/Linear, in which a tensor was made, or the path of the one that the program has told (tidemark.torch.attach, tidemark.describe); what is told counts, and the column known_by says so. Framework: other memory that a framework allocates; workspace: what its libraries of kernels work in; other: all else.",
    .reads = RECORDED_HEAP,
    .state = sizeof(struct state),
    .begin = begin,
    .again = again,
    .run = run,
};
