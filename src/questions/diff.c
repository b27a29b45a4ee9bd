/* diff - see diff.h. A stack is known in both by the hash of its names. */
#include "questions/diff.h"
#include "base/count.h"
#include "base/hash.h"

#include "base/intmap.h"
#include "base/memory.h"
#include "model/heap.h"
#include "questions/answer_limit.h"
#include "questions/covered_answer.h"
#include "questions/diff_lines.h"
#include "questions/heap_cells.h"
#include "questions/question.h"
#include "questions/stack_hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEASURES 3
#define ROWS 30 /* unless others are asked for */

struct entry {
    uint64_t two;            /* second half of its hash */
    const struct heap *heap; /* whose `stack` this is: for its names */
    uint64_t stack;
    struct heap_amount amounts[2][MEASURES];
};

struct diff {
    struct intmap found; /* of the hash -> place */
    struct entry *entries;
    size_t count, room;
    int measures;
    bool addresses; /* frames without a name have their address: one trace alone */
    struct heap_amount totals[2][MEASURES];
};

/* ---- what is compared ---- */

static struct entry *entry_of(struct diff *d, struct stack_hash hash, const struct heap *heap,
                              uint64_t stack)
{
    uint64_t place, key = hash_mix(hash.one, hash.two);

    for (; intmap_get(&d->found, key, &place); key++)
        if (place < d->count && d->entries[place].two == hash.two)
            return &d->entries[place];
    memory_fit(d->entries, d->room, d->count + 1);
    intmap_put(&d->found, key, d->count);
    d->entries[d->count] = (struct entry){.two = hash.two, .heap = heap, .stack = stack};
    return &d->entries[d->count++];
}

static void add(struct diff *d, struct entry *e, int side, int measure,
                const struct heap_amount *amount)
{
    heap_add(&e->amounts[side][measure], amount);
    heap_add(&d->totals[side][measure], amount);
}

/* `at` of each stack was filled: that is its amount of `measure`. */
static void take_at(struct diff *d, int side, const struct heap *heap, int measure)
{
    bool allocated = d->measures > 1 && measure == DIFF_BY_PEAK;
    struct stack_hash *hashes;

    if (!heap->any)
        return;
    hashes = stack_hashes(heap->frames, d->addresses);
    for (size_t i = 0; i < heap->stack_count; i++) {
        const struct heap_stack *s = &heap->stacks[i];
        uint64_t number = s->number <= heap->frames->stack_count ? s->number : 0;
        struct heap_stack_sum sum;
        struct entry *e;

        if (s->at.bytes == 0 && !(allocated && s->sums.allocated.bytes))
            continue;
        sum = heap_stack_sum(heap, s);
        e = entry_of(d, hashes[number], heap, number);
        add(d, e, side, measure, &sum.at);
        if (allocated)
            add(d, e, side, DIFF_BY_ALLOCATED, &sum.sums.allocated);
    }
    free(hashes);
}

/* What leaked is what `leaks` shows: of Python, what was alive before it freed all that it had. */
static void take_side(struct diff *d, int side, struct heap *heap)
{
    heap_at(heap, HEAP_AT_PEAK, 0);
    take_at(d, side, heap, DIFF_BY_PEAK);
    heap_at(heap, HEAP_AT_WORKED, 0);
    take_at(d, side, heap, DIFF_BY_LEAKED);
}

static uint64_t distance(const struct entry *e, int measure)
{
    uint64_t a = e->amounts[0][measure].bytes, b = e->amounts[1][measure].bytes;

    return a > b ? a - b : b - a;
}

static int compare(const void *x, const void *y, const void *by)
{
    const struct entry *a = x, *b = y;
    int first = *(const enum diff_by *)by;

    for (int i = 0; i < MEASURES; i++) {
        int measure = (first + i) % MEASURES;
        uint64_t far_a = distance(a, measure), far_b = distance(b, measure);

        if (far_a != far_b)
            return far_a > far_b ? -1 : 1;
    }
    return a->two < b->two ? -1 : a->two > b->two;
}

/* ---- the tables ---- */

/* Of each measure, three columns; then what a row has once. */
enum { CHANGE, SIDE_A, SIDE_B, MEASURE_WIDTH };
enum { ERROR, SITE, STACK, ROW_WIDTH };

// clang-format off
#define MEASURE(at, name)                                                                          \
    [(at) * MEASURE_WIDTH + CHANGE] = {name "_change", UNIT_CHANGE},                               \
    [(at) * MEASURE_WIDTH + SIDE_A] = {name "_a", UNIT_BYTES},                                     \
    [(at) * MEASURE_WIDTH + SIDE_B] = {name "_b", UNIT_BYTES}
#define ROW(measures)                                                                              \
    [(measures) * MEASURE_WIDTH + ERROR] = {"error", UNIT_BYTES},                                  \
    [(measures) * MEASURE_WIDTH + SITE] = {"site", UNIT_TEXT},                                     \
    [(measures) * MEASURE_WIDTH + STACK] = {"stack", UNIT_STACK}
// clang-format on

static const struct table_column columns_of_traces[] = {
    MEASURE(DIFF_BY_PEAK, "peak"),
    MEASURE(DIFF_BY_ALLOCATED, "allocated"),
    MEASURE(DIFF_BY_LEAKED, "leaked"),
    ROW(MEASURES),
};

static const struct table_column columns_of_moments[] = {
    MEASURE(DIFF_BY_PEAK, "live"),
    ROW(1),
};

static const struct table_column *columns_of(const struct diff *d)
{
    return d->measures > 1 ? columns_of_traces : columns_of_moments;
}

static void fill_measure(struct table_cell *c, const struct heap_amount *a,
                         const struct heap_amount *b)
{
    cell_change(&c[CHANGE], a->bytes, b->bytes);
    cell_number(&c[SIDE_A], a->bytes);
    cell_number(&c[SIDE_B], b->bytes);
}

static void fill_row(struct answer *a, struct table_cell *c, const struct entry *e,
                     const struct diff *d, enum diff_by by)
{
    double variance = e->amounts[0][by].variance + e->amounts[1][by].variance;
    struct table_frame site = frames_site(e->heap->frames, e->stack);

    for (int i = 0; i < d->measures; i++, c += MEASURE_WIDTH)
        fill_measure(c, &e->amounts[0][i], &e->amounts[1][i]);
    if (variance > 0)
        cell_rounded(&c[ERROR], sqrt(variance));
    if (e->stack) {
        cell_text(&c[SITE], table_frame_text(a->arena, &site));
        cell_stack(&c[STACK], frames_shared(e->heap->frames, e->stack));
    }
}

/* Named as the columns of the rows. */
static struct table *put_totals(struct answer *a, const struct diff *d)
{
    struct table *t = answer_facts(a, "totals");

    for (int i = 0; i < d->measures; i++) {
        const struct table_column *names = columns_of(d) + (ptrdiff_t)i * MEASURE_WIDTH;
        struct table_cell values[MEASURE_WIDTH];

        fill_measure(values, &d->totals[0][i], &d->totals[1][i]);
        for (int j = 0; j < MEASURE_WIDTH; j++) {
            values[j].unit = (uint8_t)names[j].unit;
            *table_fact(a, t, names[j].name, names[j].unit) = values[j];
        }
    }
    return t;
}

/* How many differ at all, and where the numbers are from. */
static const char *note(struct answer *a, const struct diff *d, int shown, const char *how)
{
    size_t differ = 0;

    while (differ < d->count &&
           (distance(&d->entries[differ], 0) || distance(&d->entries[differ], 1) ||
            distance(&d->entries[differ], 2)))
        differ++;
    return arena_printf(a->arena, "%d of %zu stacks that differ, of %zu; %s.", shown, differ,
                        d->count, how);
}

static void put_rows(struct answer *a, struct diff *d, enum diff_by by, const struct selection *o,
                     const char *how)
{
    struct table *t = answer_add(a, "stacks", TABLE_ROWS, columns_of(d),
                                 d->measures * MEASURE_WIDTH + ROW_WIDTH);
    uint64_t most = o->rows ? o->rows : ROWS;

    memory_sort_with(d->entries, d->count, sizeof(*d->entries), compare, &by);
    for (size_t i = 0; i < d->count && (uint64_t)t->rows < most; i++) {
        const struct entry *e = &d->entries[i];

        if (!distance(e, 0) && !distance(e, 1) && !distance(e, 2))
            break; /* what is equal is sorted last */
        fill_row(a, table_add(a, t), e, d, by);
    }
    t->note = note(a, d, t->rows, how);
}

static const char *how_known(const struct heap *h)
{
    return heap_lacking(
        h, h->sampled ? "sampled: `error` is the standard error of the change sorted by" : "exact");
}

static const char *how_both(struct answer *a, const struct heap *one, const struct heap *two)
{
    const char *first = how_known(one), *second = how_known(two);

    return strcmp(first, second) == 0 ? first : arena_printf(a->arena, "A %s; B %s", first, second);
}

static const char *both(struct answer *a, const char *one, const char *two)
{
    if (one && two)
        return arena_printf(a->arena, "A: %s B: %s", one, two);
    return one ? arena_printf(a->arena, "A: %s", one)
         : two ? arena_printf(a->arena, "B: %s", two)
               : NULL;
}

static void done(struct diff *d)
{
    intmap_free(&d->found);
    free(d->entries);
}

static int check(const struct heap *h, const char *which, struct err *err)
{
    return h->any ? 0
                  : err_set(err,
                            "%s holds no allocations to compare; record it with 'tidemark "
                            "record'",
                            which);
}

/* Without allocations in both, times alone are compared. */
static int check_both(const struct line_sums *sides, struct err *err)
{
    bool timed = diff_lines_known(sides);

    if (timed && !(sides[0].heap->any && sides[1].heap->any))
        return 0;
    return check(sides[0].heap, "the first trace", err) ||
                   check(sides[1].heap, "the second trace", err)
             ? -1
             : 0;
}

static enum diff_lines_by lines_by(enum diff_by by)
{
    return by == DIFF_BY_CPU     ? DIFF_LINES_BY_CPU
         : by == DIFF_BY_WAITING ? DIFF_LINES_BY_WAITING
                                 : DIFF_LINES_BY_BOTH;
}

int diff_traces(struct recorded *a, struct recorded *b, enum diff_by by,
                const struct selection o[2], struct answer *answer, struct err *err)
{
    struct diff d = {.measures = MEASURES};
    struct recorded *sides[] = {a, b};
    struct line_sums sums[2];
    struct table *totals;
    int result;

    for (int i = 0; i < 2; i++) {
        recorded_read(sides[i], &o[i], LINE_SUMS_READS);
        line_sums_want(&sums[i], sides[i], &o[i], false);
        recorded_read_again(sides[i]);
        line_sums_read(&sums[i]);
        take_side(&d, i, &sides[i]->heap);
    }
    result = check_both(sums, err);
    answer->health = both(answer, a->run.health, b->run.health);
    totals = put_totals(answer, &d);
    diff_lines_add(answer, totals, sums, lines_by(by), o->rows ? o->rows : ROWS);
    put_rows(answer, &d, by < MEASURES ? by : DIFF_BY_PEAK, o,
             how_both(answer, &a->heap, &b->heap));
    answer_limit_both(answer, a, b);
    for (int i = 0; i < 2; i++)
        line_sums_free(&sums[i]);
    done(&d);
    return result;
}

int diff_moments(struct recorded *r, const struct selection *o, struct answer *answer,
                 struct err *err)
{
    const struct selection whole = {.rows = o->rows, .space = o->space, .process = o->process};
    enum heap_moment to = o->to_ns ? HEAP_AT_TIME : HEAP_AT_END;
    struct diff d = {.measures = 1, .addresses = true};
    struct heap *heap = &r->heap;
    int result;

    recorded_read(r, &whole, RECORDED_HEAP);
    heap_want(heap, HEAP_AT_TIME, o->from_ns);
    heap_want(heap, to, o->to_ns);
    recorded_read_again(r);
    heap_at(heap, HEAP_AT_TIME, o->from_ns);
    take_at(&d, 0, heap, DIFF_BY_PEAK);
    heap_at(heap, to, o->to_ns);
    take_at(&d, 1, heap, DIFF_BY_PEAK);
    result = check(heap, "the trace", err);
    covered_answer(answer, &r->run);
    put_totals(answer, &d);
    put_rows(answer, &d, DIFF_BY_PEAK, o, how_known(heap));
    answer_limit(answer, r);
    done(&d);
    return result;
}
