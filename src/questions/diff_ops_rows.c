/* diff_ops_rows - what each operator allocates more or less. All rows add up to the change of what
 * was allocated. */
#include "questions/diff_ops_sides.h"

#include "base/count.h"
#include "base/memory.h"
#include "model/align.h"

enum { CHANGE, BYTES_A, BYTES_B, HOW, NUMBER_A, NUMBER_B, OP, PHASE, KIND, MODULE, LINE };

static const struct table_column columns[] = {
    [CHANGE] = {"change", UNIT_CHANGE},
    [BYTES_A] = {"bytes_a", UNIT_BYTES},
    [BYTES_B] = {"bytes_b", UNIT_BYTES},
    [HOW] = {"how", UNIT_TEXT},
    [NUMBER_A] = {"number_a", UNIT_ID, .detail = true},
    [NUMBER_B] = {"number_b", UNIT_ID, .detail = true},
    [OP] = {"op", UNIT_TEXT},
    [PHASE] = {"phase", UNIT_TEXT},
    [KIND] = {"kind", UNIT_TEXT, .detail = true},
    [MODULE] = {"module", UNIT_TEXT, .detail = true},
    [LINE] = {"line", UNIT_TEXT},
};

struct pair { /* places in the lists; ALIGN_NONE: of one side alone */
    size_t a, b;
    uint64_t bytes_a, bytes_b;
    bool moved;
};

struct pairs {
    struct pair *list;
    size_t count, moved;
};

static uint64_t distance(const struct pair *p)
{
    return p->bytes_a > p->bytes_b ? p->bytes_a - p->bytes_b : p->bytes_b - p->bytes_a;
}

/* What has only moved comes last, the largest first. */
static int by_distance(const void *x, const void *y)
{
    const struct pair *p = x, *q = y;

    if (distance(p) != distance(q))
        return distance(p) > distance(q) ? -1 : 1;
    if (p->moved && q->moved && p->bytes_a != q->bytes_a)
        return p->bytes_a > q->bytes_a ? -1 : 1;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return p->b < q->b ? -1 : p->b > q->b;
}

/* ---- what differs ---- */

static void add(struct pairs *to, const struct op_side sides[2], size_t a, size_t b, bool moved)
{
    struct pair p = {.a = a, .b = b, .moved = moved};

    p.bytes_a = a == ALIGN_NONE ? 0 : sides[0].sizes[a];
    p.bytes_b = b == ALIGN_NONE ? 0 : sides[1].sizes[b];
    if (!moved && p.bytes_a == p.bytes_b)
        return;
    to->list[to->count++] = p;
    to->moved += moved;
}

static void list_pairs(struct pairs *to, const struct op_side sides[2], const struct op_pairs *of,
                       struct arena *arena)
{
    bool *met = arena_alloc(arena, sides[1].count + 1);

    for (size_t i = 0; i < sides[0].count; i++) {
        bool moved = of->moved[i] != ALIGN_NONE;
        size_t other = moved ? of->moved[i] : of->partner[i];

        add(to, sides, i, other, moved);
        if (other != ALIGN_NONE)
            met[other] = true;
    }
    for (size_t i = 0; i < sides[1].count; i++)
        if (!met[i])
            add(to, sides, ALIGN_NONE, i, false);
}

/* ---- the table ---- */

const char *diff_ops_rest(struct arena *a, size_t count)
{
    return arena_printf(a, "(%zu smaller one%s)", count, count == 1 ? "" : "s");
}

static const char *how(const struct pair *p)
{
    return p->moved                ? "moved"
         : p->a == ALIGN_NONE      ? "added"
         : p->b == ALIGN_NONE      ? "removed"
         : p->bytes_a < p->bytes_b ? "larger"
                                   : "smaller";
}

static void put_pair(struct answer *a, struct table *t, const struct op_side sides[2],
                     const struct pair *p)
{
    const struct tensor *like = p->b != ALIGN_NONE ? sides[1].list[p->b] : sides[0].list[p->a];
    struct table_cell *c = table_add(a, t);

    cell_change(&c[CHANGE], p->bytes_a, p->bytes_b);
    if (p->a != ALIGN_NONE) {
        cell_number(&c[BYTES_A], p->bytes_a);
        cell_number(&c[NUMBER_A], p->a + 1);
    }
    if (p->b != ALIGN_NONE) {
        cell_number(&c[BYTES_B], p->bytes_b);
        cell_number(&c[NUMBER_B], p->b + 1);
    }
    cell_text(&c[HOW], how(p));
    cell_text(&c[OP], like->from->op);
    cell_text(&c[PHASE], op_phase_text(like->from->phase));
    cell_text(&c[KIND], tensor_kind_text(like->kind));
    cell_text(&c[MODULE], like->from->modules);
    cell_text(&c[LINE], table_frame_text(a->arena, op_stack_site(like->from)));
}

static void put_rest(struct answer *a, struct table *t, const struct pair *list, size_t count)
{
    uint64_t bytes_a = 0, bytes_b = 0;
    struct table_cell *c = table_add(a, t);

    for (size_t i = 0; i < count; i++) {
        bytes_a += list[i].bytes_a;
        bytes_b += list[i].bytes_b;
    }
    cell_change(&c[CHANGE], bytes_a, bytes_b);
    cell_number(&c[BYTES_A], bytes_a);
    cell_number(&c[BYTES_B], bytes_b);
    cell_text(&c[OP], diff_ops_rest(a->arena, count));
}

static const char *note_of(struct arena *a, const struct op_side sides[2], const struct pairs *p,
                           bool whole)
{
    const char *moved = p->moved ? arena_printf(a, ", and %zu moved", p->moved) : "";

    return arena_printf(
        a,
        "%zu of %zu and %zu tensors differ%s%s. The changes add up to that of what was allocated.",
        p->count - p->moved, sides[0].count, sides[1].count, moved,
        whole ? "" : "; some parts differ too much to be matched in order");
}

void diff_ops_rows(struct answer *a, const struct op_side sides[2], const struct op_pairs *pairs,
                   uint64_t rows)
{
    struct table *t = answer_add(a, "ops", TABLE_ROWS, columns, COUNT(columns));
    struct pairs p = {
        .list = arena_alloc(a->arena, (sides[0].count + sides[1].count + 1) * sizeof(*p.list))};
    size_t most = (size_t)(rows ? rows : DIFF_OPS_ROWS);

    list_pairs(&p, sides, pairs, a->arena);
    memory_sort(p.list, p.count, sizeof(*p.list), by_distance);
    for (size_t i = 0; i < p.count && i < most; i++)
        put_pair(a, t, sides, &p.list[i]);
    if (p.count > most)
        put_rest(a, t, p.list + most, p.count - most);
    t->note = note_of(a->arena, sides, &p, pairs->whole);
}
