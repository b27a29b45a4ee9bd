/* diff_ops_peak - why two peaks of tensors differ: what is held at each, by what it is for, and by
 * the operator and the line that made it. The rows of either table add up to the change of the
 * peak.
 */
#include "questions/diff_ops_sides.h"

#include "base/count.h"
#include "base/hash.h"
#include "base/intmap.h"
#include "base/memory.h"
#include "model/align.h"

#include <stdlib.h>
#include <string.h>

enum { CHANGE, BYTES_A, BYTES_B, KIND };

static const struct table_column kind_columns[] = {
    [CHANGE] = {"change", UNIT_CHANGE},
    [BYTES_A] = {"bytes_a", UNIT_BYTES},
    [BYTES_B] = {"bytes_b", UNIT_BYTES},
    [KIND] = {"kind", UNIT_TEXT},
};

enum { TENSORS_A = BYTES_B + 1, TENSORS_B, OP, PHASE, MODULE, LINE };

static const struct table_column op_columns[] = {
    [CHANGE] = {"change", UNIT_CHANGE},
    [BYTES_A] = {"bytes_a", UNIT_BYTES},
    [BYTES_B] = {"bytes_b", UNIT_BYTES},
    [TENSORS_A] = {"tensors_a", UNIT_COUNT},
    [TENSORS_B] = {"tensors_b", UNIT_COUNT},
    [OP] = {"op", UNIT_TEXT},
    [PHASE] = {"phase", UNIT_TEXT},
    [MODULE] = {"module", UNIT_TEXT, .detail = true},
    [LINE] = {"line", UNIT_TEXT},
};

struct group {
    const struct op_stack *like; /* of the second side, if that has any */
    uint64_t bytes[2], tensors[2];
    size_t order; /* in which they were met */
};

struct groups {
    struct arena *arena;
    struct intmap lines;  /* operator and line -> 1 + its place */
    struct intmap stacks; /* what a stack of a side says -> the same, as looking at it takes long */
    struct intmap partners; /* what a stack of the first says -> what that of the second does */
    struct group *list;
    size_t count, room;
};

/* ---- by kind ---- */

static void put_amounts(struct table_cell *c, const uint64_t bytes[2])
{
    cell_change(&c[CHANGE], bytes[0], bytes[1]);
    cell_number(&c[BYTES_A], bytes[0]);
    cell_number(&c[BYTES_B], bytes[1]);
}

static void put_kinds(struct answer *a, const struct op_side sides[2])
{
    struct table *t = answer_add(a, "at_peak", TABLE_ROWS, kind_columns, COUNT(kind_columns));
    uint64_t bytes[TENSOR_KINDS][2] = {{0}};

    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < sides[side].held_count; i++)
            bytes[sides[side].held[i]->kind][side] += sides[side].held[i]->bytes;
    for (int kind = 0; kind < TENSOR_KINDS; kind++) {
        struct table_cell *c;

        if (!bytes[kind][0] && !bytes[kind][1])
            continue;
        c = table_add(a, t);
        put_amounts(c, bytes[kind]);
        cell_text(&c[KIND], tensor_kind_text((enum tensor_kind)kind));
    }
    t->note = "What tensors were for when they held most; the changes add up to that of the peak.";
}

/* ---- by operator and line ---- */

/* Lines of two versions of a program have other numbers: a stack is that of the tensors its own
 * were matched with. */
static void pair_stacks(struct groups *g, const struct op_side sides[2], const struct op_pairs *p)
{
    for (size_t i = 0; i < sides[0].count; i++) {
        size_t other = p->partner[i] != ALIGN_NONE ? p->partner[i] : p->moved[i];
        uint64_t key = (uintptr_t)sides[0].list[i]->from, known;

        if (other != ALIGN_NONE && !intmap_get(&g->partners, key, &known))
            intmap_put(&g->partners, key, (uintptr_t)sides[1].list[other]->from);
    }
}

/* Those of what is held that are older than the stretch, as a side of its own. */
static struct op_side older(const struct op_side *s, struct arena *a)
{
    struct op_side o = {.list = arena_alloc(a, (s->held_count + 1) * sizeof(struct tensor *)),
                        .names = arena_alloc(a, (s->held_count + 1) * sizeof(*o.names)),
                        .sizes = arena_alloc(a, (s->held_count + 1) * sizeof(*o.sizes))};

    for (size_t i = 0; i < s->held_count; i++) {
        if (s->held[i]->born_ns >= s->of->from_ns)
            continue;
        o.list[o.count] = s->held[i];
        o.names[o.count] = op_side_name(s->held[i]->from);
        o.sizes[o.count++] = s->held[i]->bytes;
    }
    return o;
}

static void pair_all(struct groups *g, const struct op_side sides[2], const struct op_pairs *p)
{
    const struct op_side before[2] = {older(&sides[0], g->arena), older(&sides[1], g->arena)};
    struct op_pairs of_older;

    op_sides_match(&of_older, before, g->arena);
    pair_stacks(g, sides, p);
    pair_stacks(g, before, &of_older);
}

static struct group *group_of_line(struct groups *g, const struct op_stack *o)
{
    const char *line = table_frame_text(g->arena, op_stack_site(o));
    uint64_t key = hash_mix(op_side_name(o), hash_bytes(HASH_START, line, strlen(line)));
    uint64_t place;

    if (!intmap_get(&g->lines, key, &place)) {
        memory_fit(g->list, g->room, g->count + 1);
        g->list[g->count] = (struct group){.like = o, .order = g->count};
        intmap_put(&g->lines, key, place = ++g->count);
    }
    intmap_put(&g->stacks, (uintptr_t)o, place);
    return &g->list[place - 1];
}

static struct group *group_of(struct groups *g, const struct op_stack *o, int side)
{
    uint64_t place, partner;

    if (side == 0 && intmap_get(&g->partners, (uintptr_t)o, &partner))
        o = (const struct op_stack *)(uintptr_t)partner;
    return intmap_get(&g->stacks, (uintptr_t)o, &place) ? &g->list[place - 1] : group_of_line(g, o);
}

static void take_side(struct groups *g, const struct op_side *s, int side)
{
    for (size_t i = 0; i < s->held_count; i++) {
        struct group *to = group_of(g, s->held[i]->from, side);

        to->bytes[side] += s->held[i]->bytes;
        to->tensors[side]++;
    }
}

static uint64_t distance(const struct group *g)
{
    return g->bytes[0] > g->bytes[1] ? g->bytes[0] - g->bytes[1] : g->bytes[1] - g->bytes[0];
}

static int by_distance(const void *x, const void *y)
{
    const struct group *p = x, *q = y;

    if (distance(p) != distance(q))
        return distance(p) > distance(q) ? -1 : 1;
    return p->order < q->order ? -1 : p->order > q->order;
}

static struct table_cell *put_group(struct answer *a, struct table *t, const struct group *g)
{
    struct table_cell *c = table_add(a, t);

    put_amounts(c, g->bytes);
    cell_number(&c[TENSORS_A], g->tensors[0]);
    cell_number(&c[TENSORS_B], g->tensors[1]);
    if (!g->like)
        return c;
    cell_text(&c[OP], g->like->op);
    cell_text(&c[PHASE], op_phase_text(g->like->phase));
    cell_text(&c[MODULE], g->like->modules);
    cell_text(&c[LINE], table_frame_text(a->arena, op_stack_site(g->like)));
    return c;
}

static struct group sum_of(const struct group *list, size_t count)
{
    struct group sum = {0};

    for (size_t i = 0; i < count; i++)
        for (int side = 0; side < 2; side++) {
            sum.bytes[side] += list[i].bytes[side];
            sum.tensors[side] += list[i].tensors[side];
        }
    return sum;
}

/* What holds as much in both has no row. */
static void put_groups(struct answer *a, const struct groups *g, size_t most)
{
    struct table *t = answer_add(a, "at_peak_ops", TABLE_ROWS, op_columns, COUNT(op_columns));
    size_t differ = 0;
    struct group rest;

    while (differ < g->count && distance(&g->list[differ]))
        differ++;
    most = most < differ ? most : differ;
    for (size_t i = 0; i < most; i++)
        put_group(a, t, &g->list[i]);
    rest = sum_of(g->list + most, differ - most);
    if (differ > most)
        cell_text(&put_group(a, t, &rest)[OP], diff_ops_rest(a->arena, differ - most));
    t->note =
        "Which operators and lines made what lives then; the changes add up to that of the peak.";
}

static void put_lines(struct answer *a, const struct op_side sides[2], const struct op_pairs *pairs,
                      size_t most)
{
    struct groups g = {.arena = a->arena};

    if (sides[0].recorded != sides[1].recorded)
        pair_all(&g, sides, pairs);
    take_side(&g, &sides[1], 1);
    take_side(&g, &sides[0], 0);
    memory_sort(g.list, g.count, sizeof(*g.list), by_distance);
    put_groups(a, &g, most);
    intmap_free(&g.lines);
    intmap_free(&g.stacks);
    intmap_free(&g.partners);
    free(g.list);
}

void diff_ops_peak(struct answer *a, const struct op_side sides[2], const struct op_pairs *pairs,
                   uint64_t rows)
{
    put_kinds(a, sides);
    put_lines(a, sides, pairs, (size_t)(rows ? rows : DIFF_OPS_ROWS));
}
