/* diff_ops - see diff_ops.h. */
#include "questions/diff_ops.h"

#include "base/hash.h"
#include "base/memory.h"
#include "model/align_sized.h"
#include "model/tensor_curve.h"
#include "model/tensor_kinds.h"
#include "model/tensor_told.h"
#include "questions/answer_limit.h"
#include "questions/covered_answer.h"
#include "questions/diff_ops_sides.h"

#include <string.h>

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

uint64_t op_side_name(const struct op_stack *o)
{
    return hash_mix(hash_mix(hash_mix(1, hash_of(o->op)), o->phase), hash_of(o->modules));
}

static bool is_in(const struct selection *o, uint64_t time_ns)
{
    return time_ns >= o->from_ns && (!o->to_ns || time_ns <= o->to_ns);
}

/* Those of each process come in order. Which process was first is chance; which rank it is, is not.
 */
static int by_rank(const void *x, const void *y)
{
    const struct rank_known *a = x, *b = y;

    if (a[0].known != b[0].known)
        return a[0].known ? -1 : 1;
    if (a[0].known && a[0].number != b[0].number)
        return a[0].number < b[0].number ? -1 : 1;
    return a[1].number < b[1].number ? -1 : a[1].number > b[1].number;
}

/* The processes of a heap: {its rank, its place} of each, in the order in which they are compared.
 */
static struct rank_known (*order_processes(const struct heap *h, struct arena *a))[2]
{
    struct rank_known(*list)[2] = arena_alloc(a, (h->process_count + 1) * sizeof(*list));

    for (size_t i = 0; i < h->process_count; i++) {
        const struct run_process *p = h->processes[i]->run;

        list[i][0] = p ? p->ranks[RANK_RANK] : (struct rank_known){0};
        list[i][1] = (struct rank_known){true, i};
    }
    memory_sort(list, h->process_count, sizeof(*list), by_rank);
    return list;
}

static void list_births(struct op_side *s, struct arena *a)
{
    const struct heap *h = &s->recorded->heap;
    struct tensor ***of = tensors_by_process(s->tensors, a);
    struct rank_known(*order)[2] = order_processes(h, a);

    s->list = arena_alloc(a, (s->tensors->count + 1) * sizeof(struct tensor *));
    s->names = arena_alloc(a, (s->tensors->count + 1) * sizeof(*s->names));
    s->sizes = arena_alloc(a, (s->tensors->count + 1) * sizeof(*s->sizes));
    for (size_t n = 0; n < h->process_count; n++) {
        size_t p = (size_t)order[n][1].number;

        for (size_t i = 0; of[p] && i < s->tensors->born[p]; i++) {
            if (!is_in(s->of, of[p][i]->born_ns))
                continue;
            s->list[s->count] = of[p][i];
            s->names[s->count] = op_side_name(of[p][i]->from);
            s->sizes[s->count++] = of[p][i]->bytes;
            s->allocated += of[p][i]->bytes;
        }
    }
}

static void find_peak(struct op_side *s, struct arena *a)
{
    struct tensor_curve c;

    tensor_curve_start(&c, s->tensors, s->of->from_ns, s->of->to_ns);
    s->peak = c.peak;
    s->held = arena_alloc(a, (s->tensors->count + 1) * sizeof(struct tensor *));
    for (size_t i = 0; i < s->tensors->count; i++)
        if (c.peak && c.born[i] <= c.peak_at && c.died[i] > c.peak_at)
            s->held[s->held_count++] = &s->tensors->list[i];
    if (c.peak && !c.edges[c.peak_at].death && is_in(s->of, c.edges[c.peak_at].time_ns))
        s->reached = &s->tensors->list[c.edges[c.peak_at].tensor];
    tensor_curve_free(&c, s->tensors);
}

/* ---- the comparison ---- */

static void put_fact(struct answer *a, struct table *t, const char *name, uint64_t of_a,
                     uint64_t of_b)
{
    cell_change(table_fact(a, t, arena_printf(a->arena, "%s_change", name), UNIT_CHANGE), of_a,
                of_b);
    cell_number(table_fact(a, t, arena_printf(a->arena, "%s_a", name), UNIT_BYTES), of_a);
    cell_number(table_fact(a, t, arena_printf(a->arena, "%s_b", name), UNIT_BYTES), of_b);
}

/* The operator whose tensor made it the peak. */
static void put_where(struct answer *a, struct table *t, const char *name, const struct op_side *s)
{
    const struct tensor *r = s->reached;
    const char *text = "what lived before";

    if (r)
        text = arena_printf(a->arena, "%s, %s", r->from->op ? r->from->op : "[no operator]",
                            table_frame_text(a->arena, op_stack_site(r->from)));
    cell_text(table_fact(a, t, name, UNIT_TEXT), text);
}

static int check(const struct op_side *s, const char *which, struct err *err)
{
    return s->count ? 0
                    : err_set(err,
                              "%s has no tensors to compare: see docs/DEEP-LEARNING.md, and "
                              "'tidemark report FILE ops'",
                              which);
}

void op_sides_match(struct op_pairs *p, const struct op_side sides[2], struct arena *a)
{
    const struct align_sized x = {sides[0].names, sides[0].sizes, sides[0].count};
    const struct align_sized y = {sides[1].names, sides[1].sizes, sides[1].count};

    p->partner = arena_alloc(a, (x.count + 1) * sizeof(*p->partner));
    p->moved = arena_alloc(a, (x.count + 1) * sizeof(*p->moved));
    p->whole = align_sized(&x, &y, p->partner, p->moved);
}

static int compare(struct op_side sides[2], uint64_t rows, struct answer *a, struct err *err)
{
    struct table *t = answer_facts(a, "totals");
    struct op_pairs pairs;

    for (int i = 0; i < 2; i++) {
        if (!sides[i].tensors->count)
            continue;
        list_births(&sides[i], a->arena);
        find_peak(&sides[i], a->arena);
    }
    if (check(&sides[0], "the first", err) || check(&sides[1], "the second", err))
        return -1;
    put_fact(a, t, "tensors_peak", sides[0].peak, sides[1].peak);
    put_fact(a, t, "allocated", sides[0].allocated, sides[1].allocated);
    put_where(a, t, "tensors_peak_at_a", &sides[0]);
    put_where(a, t, "tensors_peak_at_b", &sides[1]);
    op_sides_match(&pairs, sides, a->arena);
    diff_ops_peak(a, sides, &pairs, rows);
    diff_ops_rows(a, sides, &pairs, rows);
    return 0;
}

int diff_ops(struct recorded *a, const struct selection *of_a, struct recorded *b,
             const struct selection *of_b, struct answer *answer, struct err *err)
{
    struct source sources[2] = {0};
    struct source *second = a == b ? &sources[0] : &sources[1];
    struct op_side sides[2] = {{a, of_a, &sources[0].stacks, &sources[0].tensors},
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
