/* question_what_if - by how much the peak of all tensors would fall if some were smaller, freed earlier,
 * computed again or kept elsewhere; and which of that, together, fits into a given size.
 */
#include "base/count.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/tensor_curve.h"
#include "questions/heap_cells.h"
#include "questions/tensor_answer.h"

#include <stdlib.h>

#define ROWS 20
#define MODULES_MOST 64  /* whose activations are tried one by one */
#define TOGETHER_MOST 16 /* ideas that are taken one after the other */

enum { FALL, PERCENT, PEAK_THEN, AT_PEAK, IDEA, KIND, MODULE, BASIS };

static const struct table_column columns[] = {
    [FALL] = {"fall", UNIT_BYTES},
    [PERCENT] = {"percent", UNIT_PERCENT},
    [PEAK_THEN] = {"peak_then", UNIT_BYTES},
    [AT_PEAK] = {"at_peak", UNIT_BYTES, .detail = true},
    [IDEA] = {"idea", UNIT_TEXT},
    [KIND] = {"kind", UNIT_TEXT},
    [MODULE] = {"module", UNIT_TEXT},
    [BASIS] = {"basis", UNIT_TEXT, .detail = true},
};

enum how { HALF, AGAIN, FREED_EARLIER, ELSEWHERE };

static const struct {
    const char *text, *basis;
} ideas[] = {
    [HALF] = {"in half the bytes", "exact, if all of them are"},
    [AGAIN] = {"computed again for gradients", "at most: without what computing them takes"},
    [FREED_EARLIER] = {"freed after the optimizer's step", "exact"},
    [ELSEWHERE] = {"elsewhere between steps", "at most: without what moving them takes"},
};

struct idea {
    enum how how;
    enum tensor_kind kind;
    const char *module; /* of activations; NULL: all, */
    bool one_module;    /* unless it is of this one alone */
    uint64_t at_peak, peak, fall;
};

struct trying {
    struct asked *asked;
    const struct tensors *tensors;
    struct tensor_curve curve;
    struct tensor ***of; /* by place of the process - 1: its tensors, by number */
    size_t processes;
    struct idea *list;
    size_t count, room;
    uint64_t peak; /* of all, as it is */
};

/* ---- shorter lives ---- */

static size_t edge_of(const struct trying *t, const struct tensor *x, uint32_t number)
{
    return tensor_curve_birth(&t->curve, t->tensors, x->place, number);
}

static enum op_phase phase_of(const struct trying *t, const struct tensor *x, uint32_t number)
{
    return t->of[x->place - 1][number]->from->phase;
}

static void shorten(struct trying *t, size_t i, size_t from, size_t to)
{
    const struct tensor_curve *c = &t->curve;

    from = from > c->born[i] ? from : c->born[i];
    to = to < c->died[i] ? to : c->died[i];
    tensor_curve_try(&t->curve, from, to, t->tensors->list[i].bytes);
}

/* From the end of the optimizer's step that follows: where it allocates nothing, none is seen. */
static void free_earlier(struct trying *t, size_t i)
{
    const struct tensor *x = &t->tensors->list[i];
    uint32_t count = t->tensors->born[x->place - 1];

    if (x->left < count && phase_of(t, x, x->left) == OP_PHASE_OPTIMIZER)
        shorten(t, i, edge_of(t, x, t->of[x->place - 1][x->left]->left), t->curve.count);
}

/* What optimizers keep is there while its process is in one: from its first birth there to the first
 * in another phase.
 */
static void keep_elsewhere(struct trying *t)
{
    const struct tensor_curve *c = &t->curve;
    uint64_t *state = memory_zeroed((t->processes + 1) * sizeof(*state)), away = 0;
    bool *inside = memory_zeroed((t->processes + 1) * sizeof(*inside));

    for (size_t i = 0; i < c->count; i++) {
        const struct tensor_edge *e = &c->edges[i];
        const struct tensor *x = &t->tensors->list[e->tensor];

        away -= inside[e->place] ? 0 : state[e->place];
        if (!e->death)
            inside[e->place] = x->from->phase == OP_PHASE_OPTIMIZER;
        if (x->kind == TENSOR_OPTIMIZER)
            state[e->place] += e->death ? 0 - x->bytes : x->bytes;
        away += inside[e->place] ? 0 : state[e->place];
        tensor_curve_try(&t->curve, i, i + 1, away);
    }
    free(state);
    free(inside);
}

static void try_one(struct trying *t, const struct idea *idea, size_t i)
{
    const struct tensor *x = &t->tensors->list[i];

    switch (idea->how) {
    case HALF:
        tensor_curve_try(&t->curve, t->curve.born[i], t->curve.died[i], x->bytes / 2);
        break;
    case AGAIN: /* it is used at the next birth, and again before its death */
        if (t->curve.died[i] < t->curve.count)
            shorten(t, i, edge_of(t, x, x->number + 1) + 1, t->curve.died[i] - 1);
        break;
    case FREED_EARLIER:
        free_earlier(t, i);
        break;
    case ELSEWHERE: /* of all together */
        break;
    }
}

static bool is_of(const struct idea *idea, const struct tensor *x)
{
    return x->kind == idea->kind && (!idea->one_module || x->from->modules == idea->module);
}

static uint64_t try_all(struct trying *t, const struct idea *idea, bool keep)
{
    if (idea->how == ELSEWHERE)
        keep_elsewhere(t);
    for (size_t i = 0; i < t->tensors->count; i++)
        if (is_of(idea, &t->tensors->list[i]))
            try_one(t, idea, i);
    return tensor_curve_peak(&t->curve, keep);
}

/* ---- ideas ---- */

static bool lives_at_peak(const struct trying *t, size_t i)
{
    return t->curve.born[i] <= t->curve.peak_at && t->curve.died[i] > t->curve.peak_at;
}

static void add(struct trying *t, struct idea idea)
{
    for (size_t i = 0; i < t->tensors->count; i++)
        if (is_of(&idea, &t->tensors->list[i]) && lives_at_peak(t, i))
            idea.at_peak += t->tensors->list[i].bytes;
    idea.peak = try_all(t, &idea, false);
    idea.fall = t->peak > idea.peak ? t->peak - idea.peak : 0;
    if (!idea.fall)
        return;
    memory_fit(t->list, t->room, t->count + 1);
    t->list[t->count++] = idea;
}

struct module {
    const char *name;
    uint64_t bytes;
};

static int by_bytes(const void *a, const void *b)
{
    const struct module *x = a, *y = b;

    return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

/* The modules that hold most activations at the peak. */
static void add_modules(struct trying *t)
{
    struct module *list = NULL;
    size_t count = 0, room = 0;
    struct intmap places = {0};

    for (size_t i = 0; i < t->tensors->count; i++) {
        const struct tensor *x = &t->tensors->list[i];
        uint64_t at;

        if (x->kind != TENSOR_ACTIVATION || !lives_at_peak(t, i))
            continue;
        if (!intmap_get(&places, (uintptr_t)x->from->modules, &at)) {
            memory_fit(list, room, count + 1);
            list[count] = (struct module){x->from->modules, 0};
            intmap_put(&places, (uintptr_t)x->from->modules, at = count++);
        }
        memory_is_there(list);
        list[at].bytes += x->bytes;
    }
    memory_sort(list, count, sizeof(*list), by_bytes);
    for (size_t i = 0; i < count && i < MODULES_MOST; i++)
        add(t, (struct idea){.how = AGAIN,
                             .kind = TENSOR_ACTIVATION,
                             .module = list[i].name,
                             .one_module = true});
    free(list);
    intmap_free(&places);
}

static void add_ideas(struct trying *t)
{
    for (int kind = TENSOR_PARAMETER; kind <= TENSOR_CACHE; kind++)
        add(t, (struct idea){.how = HALF, .kind = (enum tensor_kind)kind});
    add(t, (struct idea){.how = AGAIN, .kind = TENSOR_ACTIVATION});
    add(t, (struct idea){.how = FREED_EARLIER, .kind = TENSOR_GRADIENT});
    add(t, (struct idea){.how = ELSEWHERE, .kind = TENSOR_OPTIMIZER});
    add_modules(t);
}

static int by_fall(const void *a, const void *b)
{
    const struct idea *x = a, *y = b;

    if (x->fall != y->fall)
        return x->fall > y->fall ? -1 : 1;
    if (x->how != y->how)
        return x->how < y->how ? -1 : 1;
    return x->kind < y->kind ? -1 : x->kind > y->kind;
}

/* ---- tables ---- */

static void put(struct trying *t, struct table *table, const struct idea *idea)
{
    struct table_cell *c = table_add(t->asked->answer, table);

    cell_number(&c[FALL], idea->fall);
    heap_cell_percent(&c[PERCENT], (double)idea->fall, (double)t->peak);
    cell_number(&c[PEAK_THEN], idea->peak);
    cell_number(&c[AT_PEAK], idea->at_peak);
    cell_text(&c[IDEA], ideas[idea->how].text);
    cell_text(&c[KIND], tensor_kind_text(idea->kind));
    if (idea->one_module)
        cell_text(&c[MODULE], idea->module ? idea->module : "(outside of modules)");
    cell_text(&c[BASIS], ideas[idea->how].basis);
}

/* One idea for each kind of tensor: what is changed already cannot be changed again. */
static bool is_free(const struct idea *idea, unsigned int used)
{
    return !(used & 1u << idea->kind) && !idea->one_module;
}

static const struct idea *best_of(struct trying *t, unsigned int used, struct idea *out)
{
    const struct idea *best = NULL;
    uint64_t before = t->curve.peak;

    for (size_t i = 0; i < t->count; i++) {
        struct idea idea = t->list[i];

        if (!is_free(&idea, used))
            continue;
        idea.peak = try_all(t, &idea, false);
        idea.fall = before > idea.peak ? before - idea.peak : 0;
        if (idea.fall && (!best || idea.fall > best->fall)) {
            *out = idea;
            best = out;
        }
    }
    return best;
}

static void put_together(struct trying *t, struct table *table)
{
    uint64_t limit = t->asked->options->fits_in;
    unsigned int used = 0;
    struct idea best;
    char size[TEXT_SIZE], peak[TEXT_SIZE];

    for (int i = 0; i < TOGETHER_MOST && t->curve.peak > limit && best_of(t, used, &best); i++) {
        try_all(t, &best, true);
        used |= 1u << best.kind;
        put(t, table, &best);
    }
    if (!limit)
        table->note = "One after the other, the largest first; one for each kind of tensors.";
    else
        table->note = arena_printf(t->asked->answer->arena, "The tensors %s into %s: %s.",
                                   t->curve.peak <= limit ? "fit" : "do not fit",
                                   text_size(size, limit), text_size(peak, t->curve.peak));
}

static void put_ideas(struct trying *t)
{
    struct answer *a = t->asked->answer;
    struct table *table = answer_add(a, "ideas", TABLE_ROWS, columns, COUNT(columns));
    uint64_t most = t->asked->options->rows ? t->asked->options->rows : ROWS;

    memory_sort(t->list, t->count, sizeof(*t->list), by_fall);
    for (size_t i = 0; i < t->count && i < most; i++)
        put(t, table, &t->list[i]);
    table->note = "Each by itself, with all else as it is.";
}

static void put_facts(struct trying *t, struct table *facts)
{
    struct answer *a = t->asked->answer;
    const struct heap *h = &t->asked->recorded->heap;

    cell_number(table_fact(a, facts, "tensors_peak", UNIT_BYTES), t->peak);
    cell_number(table_fact(a, facts, "time", UNIT_NS), t->curve.edges[t->curve.peak_at].time_ns);
    cell_text(table_fact(a, facts, "basis", UNIT_TEXT), heap_basis(h, &h->sums.allocated));
}

/* ---- the question ---- */

static void answer_it(struct asked *q, struct tensor_state *s, struct table *facts)
{
    struct trying t = {.asked = q,
                       .tensors = &s->tensors,
                       .of = tensors_by_process(&s->tensors, q->answer->arena),
                       .processes = q->recorded->heap.process_count};

    tensor_curve_start(&t.curve, t.tensors, q->options->from_ns, q->options->to_ns);
    t.peak = t.curve.peak;
    put_facts(&t, facts);
    add_ideas(&t);
    put_ideas(&t);
    put_together(&t, answer_add(q->answer, "together", TABLE_ROWS, columns, COUNT(columns)));
    tensor_curve_free(&t.curve, t.tensors);
    free(t.list);
}

static void again(struct asked *q)
{
    tensor_want(q, q->state);
}

static int run(struct asked *q, struct err *err)
{
    struct tensor_state *s = q->state;
    struct table *facts = answer_facts(q->answer, "facts");

    (void)err;
    if (tensor_begin(q, s, facts))
        answer_it(q, s, facts);
    tensor_end(s);
    return 0;
}

const struct question question_what_if = {
    .name = "what-if",
    .summary = "by how much the peak of tensors would fall: smaller, earlier freed, elsewhere ...",
    .group = QUESTION_OF_TENSORS,
    .about =
        "what-if changes lives on paper and looks for the new peak, which may be at another time: tensors of a kind in half the bytes, activations that are computed again instead of kept, gradients that are freed once the optimizer has used them, its state elsewhere between its steps. It is about tensors alone. Together: what to do one after the other, with --fits-in until they fit.",
    .reads = RECORDED_HEAP,
    .state = sizeof(struct tensor_state),
    .again = again,
    .run = run,
};
