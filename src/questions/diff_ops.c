/* diff_ops - see diff_ops.h. */
#include "questions/diff_ops.h"

#include "base/count.h"
#include "base/hash.h"
#include "base/memory.h"
#include "model/align.h"
#include "model/tensor_curve.h"
#include "model/tensor_kinds.h"
#include "model/tensor_told.h"
#include "questions/answer_limit.h"
#include "questions/covered_answer.h"

#include <stdlib.h>
#include <string.h>

#define ROWS 30

enum { CHANGE, BYTES_A, BYTES_B, NUMBER_A, NUMBER_B, OP, PHASE, KIND, MODULE, LINE };

static const struct table_column op_columns[] = {
    [CHANGE] = {"change", UNIT_CHANGE},
    [BYTES_A] = {"bytes_a", UNIT_BYTES},
    [BYTES_B] = {"bytes_b", UNIT_BYTES},
    [NUMBER_A] = {"number_a", UNIT_ID, .detail = true},
    [NUMBER_B] = {"number_b", UNIT_ID, .detail = true},
    [OP] = {"op", UNIT_TEXT},
    [PHASE] = {"phase", UNIT_TEXT},
    [KIND] = {"kind", UNIT_TEXT, .detail = true},
    [MODULE] = {"module", UNIT_TEXT, .detail = true},
    [LINE] = {"line", UNIT_TEXT},
};

enum { PEAK_CHANGE, PEAK_A, PEAK_B, PEAK_KIND };

static const struct table_column peak_columns[] = {
    [PEAK_CHANGE] = {"change", UNIT_CHANGE},
    [PEAK_A] = {"bytes_a", UNIT_BYTES},
    [PEAK_B] = {"bytes_b", UNIT_BYTES},
    [PEAK_KIND] = {"kind", UNIT_TEXT},
};

struct side {
    struct recorded *recorded;
    const struct selection *of;
    struct op_stacks *stacks;
    struct tensors *tensors;
    const struct tensor **list; /* born in the stretch, in order */
    uint64_t *keys;             /* what each of them is matched by */
    size_t count;
    uint64_t allocated, peak, at_peak[TENSOR_KINDS];
};

struct source { /* of a trace: two sides may be of one */
    struct op_stacks stacks;
    struct tensors tensors;
};

/* ---- reading ---- */

/* All of the trace: lives say what tensors are for, also those outside of the stretch. */
static void read_tensors(struct source *s, struct recorded *r, const struct selection *of,
                         struct arena *a)
{
    const struct selection whole = {.space = of->space, .process = of->process};

    recorded_read(r, &whole, RECORDED_HEAP);
    if (!r->heap.any)
        return;
    op_stacks_start(&s->stacks, &r->frames, &r->arena);
    tensors_want(&s->tensors, &r->heap, &s->stacks);
    recorded_take_again(r, tensor_told_take, &s->tensors, heap_until(&r->selection));
    recorded_read_again(r);
    tensor_kinds_all(&s->tensors, a);
}

static uint64_t hash_of(const char *text)
{
    return text ? hash_bytes(HASH_START, text, strlen(text)) : 0;
}

static uint64_t key_of(const struct tensor *t)
{
    return hash_mix(hash_mix(hash_mix(1, hash_of(t->from->op)), t->from->phase),
                    hash_of(t->from->modules));
}

static bool is_in(const struct selection *o, uint64_t time_ns)
{
    return time_ns >= o->from_ns && (!o->to_ns || time_ns <= o->to_ns);
}

static void list_births(struct side *s, struct arena *a)
{
    struct tensor ***of = tensors_by_process(s->tensors, a);

    s->list = arena_alloc(a, (s->tensors->count + 1) * sizeof(struct tensor *));
    s->keys = arena_alloc(a, (s->tensors->count + 1) * sizeof(*s->keys));
    for (size_t p = 0; p < s->recorded->heap.process_count; p++)
        for (size_t i = 0; of[p] && i < s->tensors->born[p]; i++) {
            if (!is_in(s->of, of[p][i]->born_ns))
                continue;
            s->list[s->count] = of[p][i];
            s->keys[s->count++] = key_of(of[p][i]);
            s->allocated += of[p][i]->bytes;
        }
}

static void find_peak(struct side *s)
{
    struct tensor_curve c;

    tensor_curve_start(&c, s->tensors, s->of->from_ns, s->of->to_ns);
    s->peak = c.peak;
    for (size_t i = 0; i < s->tensors->count; i++)
        if (c.peak && c.born[i] <= c.peak_at && c.died[i] > c.peak_at)
            s->at_peak[s->tensors->list[i].kind] += s->tensors->list[i].bytes;
    tensor_curve_free(&c, s->tensors);
}

/* ---- tables ---- */

static void put_fact(struct answer *a, struct table *t, const char *name, uint64_t of_a,
                     uint64_t of_b)
{
    cell_change(table_fact(a, t, arena_printf(a->arena, "%s_change", name), UNIT_CHANGE), of_a,
                of_b);
    cell_number(table_fact(a, t, arena_printf(a->arena, "%s_a", name), UNIT_BYTES), of_a);
    cell_number(table_fact(a, t, arena_printf(a->arena, "%s_b", name), UNIT_BYTES), of_b);
}

static void put_peaks(struct answer *a, const struct side sides[2])
{
    struct table *t = answer_add(a, "at_peak", TABLE_ROWS, peak_columns, COUNT(peak_columns));

    for (int kind = 0; kind < TENSOR_KINDS; kind++) {
        struct table_cell *c;

        if (!sides[0].at_peak[kind] && !sides[1].at_peak[kind])
            continue;
        c = table_add(a, t);
        cell_change(&c[PEAK_CHANGE], sides[0].at_peak[kind], sides[1].at_peak[kind]);
        cell_number(&c[PEAK_A], sides[0].at_peak[kind]);
        cell_number(&c[PEAK_B], sides[1].at_peak[kind]);
        cell_text(&c[PEAK_KIND], tensor_kind_text((enum tensor_kind)kind));
    }
    t->note =
        "What tensors are for when most of them live; the changes add up to that of the peak.";
}

struct pair { /* places in the lists; ALIGN_NONE: of one side alone */
    size_t a, b;
    uint64_t distance;
};

static int by_distance(const void *x, const void *y)
{
    const struct pair *p = x, *q = y;

    if (p->distance != q->distance)
        return p->distance > q->distance ? -1 : 1;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return p->b < q->b ? -1 : p->b > q->b;
}

static uint64_t bytes_at(const struct side *s, size_t i)
{
    return i == ALIGN_NONE ? 0 : s->list[i]->bytes;
}

static void add_pair(const struct side sides[2], struct pair *list, size_t *count, size_t a,
                     size_t b)
{
    uint64_t x = bytes_at(&sides[0], a), y = bytes_at(&sides[1], b);

    if (x != y)
        list[(*count)++] = (struct pair){a, b, x > y ? x - y : y - x};
}

static size_t list_pairs(const struct side sides[2], const size_t *partner, struct pair *list)
{
    size_t count = 0, next = 0;

    for (size_t i = 0; i < sides[0].count; i++) {
        if (partner[i] == ALIGN_NONE) {
            add_pair(sides, list, &count, i, ALIGN_NONE);
            continue;
        }
        while (next < partner[i])
            add_pair(sides, list, &count, ALIGN_NONE, next++);
        add_pair(sides, list, &count, i, next++);
    }
    while (next < sides[1].count)
        add_pair(sides, list, &count, ALIGN_NONE, next++);
    return count;
}

static void put_pair(struct answer *a, struct table *t, const struct side sides[2],
                     const struct pair *p)
{
    const struct tensor *like = p->b != ALIGN_NONE ? sides[1].list[p->b] : sides[0].list[p->a];
    struct table_cell *c = table_add(a, t);

    cell_change(&c[CHANGE], bytes_at(&sides[0], p->a), bytes_at(&sides[1], p->b));
    if (p->a != ALIGN_NONE) {
        cell_number(&c[BYTES_A], bytes_at(&sides[0], p->a));
        cell_number(&c[NUMBER_A], p->a + 1);
    }
    if (p->b != ALIGN_NONE) {
        cell_number(&c[BYTES_B], bytes_at(&sides[1], p->b));
        cell_number(&c[NUMBER_B], p->b + 1);
    }
    cell_text(&c[OP], like->from->op);
    cell_text(&c[PHASE], op_phase_text(like->from->phase));
    cell_text(&c[KIND], tensor_kind_text(like->kind));
    cell_text(&c[MODULE], like->from->modules);
    cell_text(&c[LINE], table_frame_text(a->arena, op_stack_site(like->from)));
}

static void put_ops(struct answer *a, const struct side sides[2], uint64_t rows)
{
    struct table *t = answer_add(a, "ops", TABLE_ROWS, op_columns, COUNT(op_columns));
    size_t *partner = arena_alloc(a->arena, (sides[0].count + 1) * sizeof(*partner));
    struct pair *list = arena_alloc(a->arena,
                                    (sides[0].count + sides[1].count + 1) * sizeof(*list));
    bool whole = align(sides[0].keys, sides[0].count, sides[1].keys, sides[1].count, partner);
    size_t count = list_pairs(sides, partner, list), most = (size_t)(rows ? rows : ROWS);

    memory_sort(list, count, sizeof(*list), by_distance);
    for (size_t i = 0; i < count && i < most; i++)
        put_pair(a, t, sides, &list[i]);
    t->note = arena_printf(a->arena, "%s%zu of %zu and %zu tensors differ%s.",
                           count > most ? "Those that differ most: " : "", count, sides[0].count,
                           sides[1].count,
                           whole ? "" : "; in some parts too much does for them to be matched");
}

/* ---- the comparison ---- */

static int check(const struct side *s, const char *which, struct err *err)
{
    return s->count ? 0
                    : err_set(err,
                              "%s has no tensors to compare: see docs/DEEP-LEARNING.md, and "
                              "'tidemark report FILE ops'",
                              which);
}

static int compare(struct side sides[2], uint64_t rows, struct answer *a, struct err *err)
{
    struct table *t = answer_facts(a, "totals");

    for (int i = 0; i < 2; i++) {
        if (!sides[i].tensors->count)
            continue;
        list_births(&sides[i], a->arena);
        find_peak(&sides[i]);
    }
    if (check(&sides[0], "the first", err) || check(&sides[1], "the second", err))
        return -1;
    put_fact(a, t, "tensors_peak", sides[0].peak, sides[1].peak);
    put_fact(a, t, "allocated", sides[0].allocated, sides[1].allocated);
    put_peaks(a, sides);
    put_ops(a, sides, rows);
    return 0;
}

int diff_ops(struct recorded *a, const struct selection *of_a, struct recorded *b,
             const struct selection *of_b, struct answer *answer, struct err *err)
{
    struct source sources[2] = {0};
    struct source *second = a == b ? &sources[0] : &sources[1];
    struct side sides[2] = {{a, of_a, &sources[0].stacks, &sources[0].tensors},
                            {b, of_b, &second->stacks, &second->tensors}};
    int result;

    read_tensors(&sources[0], a, of_a, answer->arena);
    if (a != b)
        read_tensors(second, b, of_b, answer->arena);
    covered_answer(answer, &a->run);
    result = compare(sides, of_a->rows, answer, err);
    if (a == b)
        answer_limit(answer, a);
    else
        answer_limit_both(answer, a, b);
    for (int i = 0; i < 2; i++) {
        tensors_free(&sources[i].tensors);
        op_stacks_free(&sources[i].stacks);
    }
    return result;
}
