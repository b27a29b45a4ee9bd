/* tensor_parts - see tensor_parts.h. */
#include "questions/tensor_parts.h"

#include "base/count.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "questions/heap_cells.h"

#include <stdlib.h>

enum { KIND, BYTES, PERCENT, BLOCKS, TOLD, ERROR_PERCENT };

static const struct table_column kind_columns[] = {
    [KIND] = {"kind", UNIT_TEXT},
    [BYTES] = {"bytes", UNIT_BYTES},
    [PERCENT] = {"percent", UNIT_PERCENT},
    [BLOCKS] = {"blocks", UNIT_COUNT},
    [TOLD] = {"told", UNIT_BYTES}, /* of it: by the program's own word */
    [ERROR_PERCENT] = {"error_percent", UNIT_PERCENT, .detail = true},
};

const unsigned char tensor_parts_order[TENSOR_PARTS_KINDS] = {
    TENSOR_PARAMETER,    TENSOR_GRADIENT,        TENSOR_OPTIMIZER,       TENSOR_ACTIVATION,
    TENSOR_INPUT,        TENSOR_BUFFER,          TENSOR_CACHE,           TENSOR_TEMPORARY,
    TENSOR_UNKNOWN,      TENSOR_PARTS_WORKSPACE, TENSOR_PARTS_FRAMEWORK, TENSOR_PARTS_OTHER,
    TENSOR_PARTS_OUTSIDE};

const char *tensor_parts_text(int kind)
{
    switch (kind) {
    case TENSOR_PARTS_WORKSPACE:
        return "workspace";
    case TENSOR_PARTS_FRAMEWORK:
        return "framework";
    case TENSOR_PARTS_OTHER:
        return "other";
    case TENSOR_PARTS_OUTSIDE:
        return "outside of the windows";
    default:
        return tensor_kind_text((enum tensor_kind)kind);
    }
}

static uint64_t key_of(uint64_t key, const struct tensor_owner *o)
{
    key = hash_mix(hash_mix(key, (uint64_t)o->kind), o->known);
    return hash_mix(hash_mix(key, (uintptr_t)o->module), (uintptr_t)o->label);
}

static void add(struct tensor_parts *p, const struct tensor_owner *o,
                const struct heap_amount *amount)
{
    uint64_t key = key_of(1, o), place;

    if (!amount->bytes)
        return;
    if (!intmap_get(&p->places, key, &place)) {
        memory_fit(p->list, p->room, p->count + 1);
        place = p->count++;
        p->list[place] = (struct tensor_part){.owner = *o};
        intmap_put(&p->places, key, place);
    }
    heap_add(&p->list[place].amount, amount);
    heap_add(&p->of[o->kind], amount);
    if (o->known == TENSOR_BY_WORD)
        heap_add(&p->told[o->kind], amount);
}

/* ---- the tensors of a stack ---- */

struct group { /* those of one owner */
    struct tensor_owner owner;
    uint64_t bytes, blocks;
    uint32_t next; /* of the stack: 1 + its place; 0: it is the last */
};

struct held {
    struct group *groups;
    size_t count, room;
    struct intmap firsts; /* stack -> 1 + place of its first group */
    struct intmap places; /* stack and owner -> place */
    const struct heap_labels *labels;
    const char *label_texts[HEAP_LABEL_SETS + 1];
};

/* "phase=fit, request=7", of a set; NULL: it is none. */
static const char *label_text(struct held *h, uint64_t context, struct arena *a)
{
    unsigned int set = h->labels ? heap_labels_of_context(h->labels, context) : 0;
    const struct heap_label_set *l = h->labels ? &h->labels->sets[set] : NULL;
    const char **text = &h->label_texts[set];

    if (*text)
        return *text;
    for (unsigned int i = 0; l && i < l->count; i++)
        *text = arena_printf(a, "%s%s%s=%s", *text ? *text : "", *text ? ", " : "", l->pairs[i].key,
                             l->pairs[i].value);
    return *text;
}

int tensor_parts_kind(const struct tensor *t)
{
    return t->from->outside && !t->kind && !t->words ? TENSOR_PARTS_OUTSIDE : (int)t->kind;
}

static struct tensor_owner owner_of(struct held *h, const struct tensor *t, struct arena *a)
{
    return (struct tensor_owner){.kind = tensor_parts_kind(t),
                                 .known = tensor_told_how(t),
                                 .module = t->name ? t->name : t->from->modules,
                                 .label = t->words ? t->words : label_text(h, t->context, a)};
}

static void hold(struct held *h, const struct tensor *t, const struct tensor_owner *o,
                 struct arena *a)
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

static void hold_all(struct held *h, const struct tensors *t, const struct tensors_moment *m,
                     struct arena *a)
{
    for (size_t i = 0; i < t->count; i++) {
        struct tensor_owner o;

        if (!tensors_alive(m, &t->list[i]))
            continue;
        o = owner_of(h, &t->list[i], a);
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
                                text_rounded((double)of->milliblocks * blocks), of->variance * part,
                                of->of_blocks * blocks};
}

/* A stack's amount is split as its tensors are: what rounding or a limit leaves is the largest's.
 */
static void split(struct tensor_parts *p, const struct heap_amount *all, const struct held *h,
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

/* Blocks of all kinds share the stack of what is outside of the windows: those that are told, each
 * of which is recorded, are taken out of it as they are.
 */
static void take_out(struct tensor_parts *p, const struct heap_amount *all, const struct held *h,
                     uint64_t first)
{
    struct heap_amount rest = *all;

    for (uint64_t at = first; at; at = h->groups[at - 1].next) {
        const struct group *g = &h->groups[at - 1];
        struct heap_amount part = {g->bytes, g->blocks * 1000, 0, 0};

        if (g->owner.kind == TENSOR_PARTS_OUTSIDE || part.bytes > rest.bytes)
            continue;
        add(p, &g->owner, &part);
        heap_subtract(&rest, &part);
    }
    add(p, &(struct tensor_owner){.kind = TENSOR_PARTS_OUTSIDE}, &rest);
}

int tensor_parts_rest(const struct op_stack *from)
{
    if (from->tensor)
        return TENSOR_UNKNOWN;
    if (from->outside)
        return TENSOR_PARTS_OUTSIDE;
    return from->workspace ? TENSOR_PARTS_WORKSPACE
         : from->framework ? TENSOR_PARTS_FRAMEWORK
                           : TENSOR_PARTS_OTHER;
}

void tensor_parts_sum(struct tensor_parts *p, struct asked *q, struct tensor_state *s,
                      const struct tensors_moment *m)
{
    struct heap *h = &q->recorded->heap;
    struct held held = {.labels = p->labels};

    hold_all(&held, &s->tensors, m, q->answer->arena);
    for (size_t i = 0; i < h->stack_count; i++) {
        const struct heap_stack *stack = &h->stacks[i];
        const struct op_stack *from = op_stacks_common(&s->stacks, stack->number);
        const struct tensor_owner rest = {.kind = tensor_parts_rest(from),
                                          .module = from->tensor ? from->modules : NULL};
        struct heap_amount all = heap_stack_at(h, stack);
        uint64_t first;

        if (!held.groups || !intmap_get(&held.firsts, stack->number, &first))
            add(p, &rest, &all);
        else if (from->outside)
            take_out(p, &all, &held, first);
        else
            split(p, &all, &held, first);
    }
    intmap_free(&held.firsts);
    intmap_free(&held.places);
}

/* ---- the table ---- */

static bool any_told(const struct tensor_parts *p)
{
    for (int i = 0; i < TENSOR_PARTS_KINDS; i++)
        if (p->told[i].bytes)
            return true;
    return false;
}

struct table *tensor_parts_table(struct answer *a)
{
    return answer_add(a, "kinds", TABLE_ROWS, kind_columns, COUNT(kind_columns));
}

void tensor_parts_put(struct answer *a, struct table *t, const struct tensor_parts *p,
                      uint64_t whole)
{
    const unsigned char *order = tensor_parts_order;
    bool told = any_told(p);

    for (int i = 0; i < TENSOR_PARTS_KINDS; i++) {
        const struct heap_amount *of = &p->of[order[i]];
        struct table_cell *c;

        if (order[i] == TENSOR_PARTS_OUTSIDE && !of->bytes)
            continue; /* most recordings have no windows */
        c = table_add(a, t);
        cell_text(&c[KIND], tensor_parts_text(order[i]));
        heap_cell_bytes(&c[BYTES], of);
        heap_cell_percent(&c[PERCENT], (double)of->bytes, (double)whole);
        heap_cell_blocks(&c[BLOCKS], of);
        if (told && order[i] < TENSOR_KINDS)
            heap_cell_bytes(&c[TOLD], &p->told[order[i]]);
        heap_cell_error(&c[ERROR_PERCENT], of);
    }
}

void tensor_parts_free(struct tensor_parts *p)
{
    free(p->list);
    intmap_free(&p->places);
}
