/* question_ops - which operators of a deep-learning program allocate memory: by operator, phase,
 * module, the program's own line, or kind of tensor. Sums are of tensors alone, of the stretch of
 * time that is asked about; `most` and `at_peak` count what is older, too.
 */
#include "base/count.h"
#include "base/hash.h"
#include "base/memory.h"
#include "model/tensor_curve.h"
#include "questions/heap_cells.h"
#include "questions/ops_calls.h"
#include "questions/tensor_answer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 50

enum {
    OP,
    CALLED,
    PHASE,
    NODE,
    MODULE,
    LINE,
    KIND,
    BLOCKS,
    ALLOCATED,
    FREED,
    CHANGE,
    MOST,
    AT_PEAK,
};

static const struct table_column columns[] = {
    [OP] = {"op", UNIT_TEXT, .detail = true},
    [CALLED] = {"called", UNIT_TEXT, .detail = true},
    [PHASE] = {"phase", UNIT_TEXT, .detail = true},
    [NODE] = {"node", UNIT_TEXT, .detail = true},
    [MODULE] = {"module", UNIT_TEXT, .detail = true},
    [LINE] = {"line", UNIT_TEXT, .detail = true},
    [KIND] = {"kind", UNIT_TEXT, .detail = true},
    [BLOCKS] = {"blocks", UNIT_COUNT},
    [ALLOCATED] = {"allocated", UNIT_BYTES},
    [FREED] = {"freed", UNIT_BYTES},
    [CHANGE] = {"change", UNIT_CHANGE},
    [MOST] = {"most", UNIT_BYTES},
    [AT_PEAK] = {"at_peak", UNIT_BYTES},
};

struct row {
    const struct tensor *like; /* one of them, */
    unsigned int same;         /* and what is the same in all: 1 << a column */
    uint64_t blocks, allocated, freed, live, most, at_peak;
};

struct rows {
    struct row *list;
    size_t count, room;
    struct intmap places;
};

/* ---- which rows ---- */

static const char *text_of(struct arena *a, const struct tensor *t, int column)
{
    const struct op_stack *from = t->from;

    switch (column) {
    case OP:
        return from->op;
    case CALLED:
        return from->called;
    case PHASE:
        return op_phase_text(from->phase);
    case NODE:
        return from->node;
    case MODULE:
        return from->modules;
    case KIND:
        return tensor_kind_text(t->kind);
    default:
        return table_frame_text(a, op_stack_site(from));
    }
}

static uint64_t key_of(const struct tensor *t, int column)
{
    const struct op_stack *from = t->from;

    switch (column) {
    case OP:
        return (uintptr_t)from->op;
    case CALLED:
        return (uintptr_t)from->called;
    case PHASE:
        return from->phase;
    case NODE:
        return (uintptr_t)from->node;
    case MODULE:
        return (uintptr_t)from->modules;
    case KIND:
        return t->kind;
    default:
        return frames_key(op_stack_site(from));
    }
}

/* Operators are told apart by their phase as well. */
static unsigned int grouped_by(const struct selection *o)
{
    static const unsigned int of[] = {
        [SELECTION_BY_OP] = 1 << OP | 1 << PHASE, [SELECTION_BY_PHASE] = 1 << PHASE,
        [SELECTION_BY_MODULE] = 1 << MODULE,      [SELECTION_BY_LINE] = 1 << LINE,
        [SELECTION_BY_NODE] = 1 << NODE,          [SELECTION_BY_KIND] = 1 << KIND};

    return of[o->by];
}

static struct row *row_of(struct rows *r, const struct tensor *t, unsigned int by)
{
    uint64_t key = by, place;

    for (int c = OP; c <= KIND; c++)
        key = by & 1u << c ? hash_mix(key, key_of(t, c)) : key;
    if (intmap_get(&r->places, key, &place))
        return &r->list[place];
    memory_fit(r->list, r->room, r->count + 1);
    r->list[r->count] = (struct row){.like = t, .same = (1u << BLOCKS) - 1};
    intmap_put(&r->places, key, r->count);
    return &r->list[r->count++];
}

/* ---- lives ---- */

static bool is_asked_for(const struct selection_finer *s, uint64_t time_ns)
{
    return time_ns >= s->from_ns && (!s->to_ns || time_ns <= s->to_ns);
}

static void move(struct row *r, const struct tensor_edge *e, uint64_t bytes, bool in)
{
    r->live += e->death ? 0 - bytes : bytes;
    if (!in)
        return;
    if (e->death) {
        r->freed += bytes;
        return;
    }
    r->blocks++;
    r->allocated += bytes;
}

static void note_same(struct row *r, const struct tensor *t)
{
    for (int c = OP; c <= KIND; c++)
        if (key_of(r->like, c) != key_of(t, c))
            r->same &= ~(1u << c);
}

/* What lives when the stretch begins may be the most of it. */
static void begin_stretch(struct rows *r)
{
    for (size_t i = 0; i < r->count; i++)
        r->list[i].most = r->list[i].live;
}

static void read_lives(struct rows *r, const struct asked *q, const struct tensors *t)
{
    const struct tensors_moment peak = tensor_peak_moment(t->heap);
    const struct selection_finer *stretch = &q->options->finer;
    unsigned int by = grouped_by(q->options);
    struct tensor_curve curve;
    bool began = false;

    tensor_curve_start(&curve, t, stretch->from_ns, stretch->to_ns);
    for (size_t i = 0; i < curve.count; i++) {
        const struct tensor_edge *e = &curve.edges[i];
        const struct tensor *x = &t->list[e->tensor];
        bool in = is_asked_for(stretch, e->time_ns);
        struct row *row;

        if (in && !began)
            begin_stretch(r);
        began |= in;
        row = row_of(r, x, by);
        move(row, e, x->bytes, in);
        row->most = in && row->live > row->most ? row->live : row->most;
        if (e->death)
            continue;
        note_same(row, x);
        row->at_peak += tensors_alive(&peak, x) ? x->bytes : 0;
    }
    tensor_curve_free(&curve, t);
}

/* ---- the table ---- */

/* What rows are of is no detail. */
static struct table *add_table(struct asked *q)
{
    struct table_column *own = arena_alloc(q->answer->arena, sizeof(columns));
    unsigned int by = grouped_by(q->options);

    memcpy(own, columns, sizeof(columns));
    for (int c = OP; c <= KIND; c++)
        own[c].detail = !(by & 1u << c);
    return answer_add(q->answer, "ops", TABLE_ROWS, own, COUNT(columns));
}

static int by_allocated(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    if (x->allocated != y->allocated)
        return x->allocated > y->allocated ? -1 : 1;
    if (x->most != y->most)
        return x->most > y->most ? -1 : 1;
    return x->like < y->like ? -1 : x->like > y->like;
}

static void put_sums(struct table_cell *c, const struct row *r)
{
    cell_number(&c[BLOCKS], r->blocks);
    cell_number(&c[ALLOCATED], r->allocated);
    cell_number(&c[FREED], r->freed);
    cell_change(&c[CHANGE], r->freed, r->allocated);
    cell_number(&c[AT_PEAK], r->at_peak);
}

static void put_row(struct answer *a, struct table *t, const struct row *r)
{
    struct table_cell *cells = table_add(a, t);

    for (int c = OP; c <= KIND; c++)
        if (r->same & 1u << c)
            cell_text(&cells[c], text_of(a->arena, r->like, c));
    put_sums(cells, r);
    cell_number(&cells[MOST], r->most);
}

/* The largest of several at one time is not known by the largest of each. */
static void put_rest(struct answer *a, struct table *t, const struct rows *r, size_t from,
                     size_t to, int column)
{
    struct row sum = {0};
    struct table_cell *c;

    for (size_t i = from; i < to; i++) {
        sum.blocks += r->list[i].blocks;
        sum.allocated += r->list[i].allocated;
        sum.freed += r->list[i].freed;
        sum.at_peak += r->list[i].at_peak;
    }
    if (from == to)
        return;
    c = table_add(a, t);
    cell_text(&c[column],
              arena_printf(a->arena, "(%zu smaller one%s)", to - from, to - from == 1 ? "" : "s"));
    put_sums(c, &sum);
}

static void put_rows(struct asked *q, struct table *t, struct rows *r)
{
    uint64_t most = q->options->rows ? q->options->rows : ROWS;
    size_t count = r->count, shown;
    int column;

    memory_sort(r->list, r->count, sizeof(*r->list), by_allocated);
    while (count && !r->list[count - 1].most && !r->list[count - 1].freed)
        count--;
    shown = most < count ? (size_t)most : count;
    for (size_t i = 0; i < shown; i++)
        put_row(q->answer, t, &r->list[i]);
    for (column = OP; !(grouped_by(q->options) & 1u << column);)
        column++;
    put_rest(q->answer, t, r, shown, count, column);
}

static void put_facts(struct answer *a, struct table *facts, const struct rows *r)
{
    struct row sum = {0};

    for (size_t i = 0; i < r->count; i++) {
        sum.blocks += r->list[i].blocks;
        sum.allocated += r->list[i].allocated;
        sum.freed += r->list[i].freed;
        sum.at_peak += r->list[i].at_peak;
    }
    cell_number(table_fact(a, facts, "tensors", UNIT_COUNT), sum.blocks);
    cell_number(table_fact(a, facts, "allocated", UNIT_BYTES), sum.allocated);
    cell_number(table_fact(a, facts, "freed", UNIT_BYTES), sum.freed);
    cell_number(table_fact(a, facts, "tensors_at_peak", UNIT_BYTES), sum.at_peak);
}

struct asking {
    struct tensor_state tensors;
    struct ops_calls calls;
};

static void again(struct asked *q)
{
    struct asking *s = q->state;

    tensor_want(q, &s->tensors);
    tensor_peak_want(&q->recorded->heap);
    ops_calls_again(q, &s->calls);
}

static int run(struct asked *q, struct err *err)
{
    struct answer *a = q->answer;
    struct asking *asking = q->state;
    struct tensor_state *s = &asking->tensors;
    struct table *facts = answer_facts(a, "facts");
    struct table *t = add_table(q);
    struct rows rows = {0};
    struct heap_amount peak;

    (void)err;
    if (tensor_begin(q, s, t)) {
        peak = tensor_peak_at(&q->recorded->heap);
        read_lives(&rows, q, &s->tensors);
        put_facts(a, facts, &rows);
        heap_cell_bytes(table_fact(a, facts, "peak_heap", UNIT_BYTES), &peak);
        cell_text(table_fact(a, facts, "basis", UNIT_TEXT),
                  tensor_peak_basis(&q->recorded->heap, &peak));
        put_rows(q, t, &rows);
    }
    ops_calls_put(q, &asking->calls, facts);
    free(rows.list);
    intmap_free(&rows.places);
    tensor_end(s);
    return 0;
}

const struct question question_ops = {
    .name = "ops",
    .summary = "which operators allocate tensors: how much, how much at a time and at the peak",
    .group = QUESTION_OF_TENSORS,
    .about =
        "ops finds operators in stacks: op is the innermost, called the outermost that Python called, node the one whose gradients were computed. A free is charged to the operator that had allocated the block. most: what a row held at one time; at_peak: at the peak of the whole heap. A column is empty where a row has several; --by chooses what rows are of. A recording with --ops has a second table, calls: every operator that PyTorch has run, by the name that it has there, how often, the most that one call held above what was there when it began (above_entry), what it allocated as the innermost (own), and with all that ran within it.",
    .reads = RECORDED_HEAP,
    .of_lives = true,
    .state = sizeof(struct asking),
    .again = again,
    .run = run,
};
