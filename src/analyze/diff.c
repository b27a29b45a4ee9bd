/* diff - see diff.h. A stack's number is turned into a hash of its names; parents come before their
 * children, so one pass over the stacks of a trace does. Two hashes of 64 bits make one of 128.
 */
#include "analyze/diff.h"

#include "analyze/covered.h"
#include "analyze/heap.h"
#include "base/intmap.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define MEASURES 3
#define ROWS 30 /* unless others are asked for */
#define INLINED_MOST 64

struct hash {
    uint64_t one, two;
};

struct entry {
    uint64_t two;            /* second half of its hash */
    const struct heap *heap; /* whose `stack` this is: for its names */
    uint64_t stack;
    struct heap_amount amounts[2][MEASURES];
};

struct diff {
    struct intmap found; /* first half of the hash -> place */
    struct entry *entries;
    size_t count, room;
    int measures;
    bool addresses; /* frames without a name have their address: one trace alone */
    struct heap_amount totals[2][MEASURES];
};

/* ---- names as hashes ---- */

static void mix(struct hash *h, const void *bytes, size_t size)
{
    const unsigned char *p = bytes;

    for (size_t i = 0; i < size; i++) {
        h->one = (h->one ^ p[i]) * 0x100000001b3u;
        h->two = (h->two ^ p[i]) * 0x9e3779b97f4a7c15u;
        h->two ^= h->two >> 29;
    }
}

/* Without what the compiler appended when it cloned or split the function. */
static size_t function_length(const char *function)
{
    static const char *const added[] = {".constprop", ".isra",     ".part",
                                        ".cold",      ".lto_priv", ".llvm"};
    size_t length = strlen(function);

    for (int i = 0; i < COUNT(added); i++) {
        const char *at = strstr(function, added[i]);

        if (at && at != function && (size_t)(at - function) < length)
            length = (size_t)(at - function);
    }
    return length;
}

static void mix_module(struct hash *h, const char *path)
{
    const char *base = path ? strrchr(path, '/') : NULL, *version;

    base = base ? base + 1 : path;
    version = base ? strstr(base, ".so") : NULL;
    if (version)
        mix(h, base, (size_t)(version - base)); /* of the program, nothing */
}

static void mix_frame(struct hash *h, const struct table_frame *f, bool addresses)
{
    unsigned int no_frame = f->flags & (TABLE_FRAME_ELIDED | TABLE_FRAME_CUT);

    mix(h, &no_frame, sizeof(no_frame));
    if (f->function)
        mix(h, f->function, function_length(f->function));
    mix(h, "", 1);
    mix_module(h, f->module);
    mix(h, "", 1);
    if (addresses && !f->function)
        mix(h, &f->address, sizeof(f->address));
}

/* The hash of every stack, 0 .. stack_count; to be freed. */
static struct hash *hash_stacks(const struct heap *heap, bool addresses)
{
    const struct frames *f = &heap->frames;
    struct hash *all = memory_zeroed((f->stack_count + 1) * sizeof(*all));
    struct table_frame names[INLINED_MOST];

    all[0] = (struct hash){0xcbf29ce484222325u, 0x84222325cbf29ce4u};
    for (size_t i = 1; i <= f->stack_count; i++) {
        const struct frames_stack *s = &f->stacks[i];
        size_t n = frames_expand(f, s->frame, names, INLINED_MOST);

        all[i] = all[s->parent];
        while (n--)
            mix_frame(&all[i], &names[n], addresses);
    }
    return all;
}

/* ---- what is compared ---- */

static struct entry *entry_of(struct diff *d, struct hash hash, const struct heap *heap,
                              uint64_t stack)
{
    uint64_t place, key = hash.one;

    for (; intmap_get(&d->found, key, &place); key++)
        if (place < d->count && d->entries[place].two == hash.two)
            return &d->entries[place];
    if (d->count == d->room) {
        d->room = d->room ? d->room * 2 : 1024;
        d->entries = memory_resize(d->entries, d->room * sizeof(*d->entries));
    }
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

static bool is_empty(const struct heap_stack *s, int measures)
{
    return s->at.bytes == 0 &&
           (measures == 1 || (s->sums.allocated.bytes == 0 && s->sums.live.bytes == 0));
}

/* `at` of each stack was filled: at the peak, or at a moment. */
static void take_side(struct diff *d, int side, const struct heap *heap)
{
    struct hash *hashes;

    if (!heap->any)
        return;
    hashes = hash_stacks(heap, d->addresses);
    for (size_t i = 0; i < heap->stack_count; i++) {
        const struct heap_stack *s = &heap->stacks[i];
        uint64_t number = s->number <= heap->frames.stack_count ? s->number : 0;
        struct entry *e;

        if (is_empty(s, d->measures))
            continue;
        e = entry_of(d, hashes[number], heap, number);
        add(d, e, side, DIFF_BY_PEAK, &s->at);
        if (d->measures > 1) {
            add(d, e, side, DIFF_BY_ALLOCATED, &s->sums.allocated);
            add(d, e, side, DIFF_BY_LEAKED, &s->sums.live);
        }
    }
    free(hashes);
}

static uint64_t distance(const struct entry *e, int measure)
{
    uint64_t a = e->amounts[0][measure].bytes, b = e->amounts[1][measure].bytes;

    return a > b ? a - b : b - a;
}

static int compare(const void *x, const void *y, void *by)
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

static const struct table_column columns_of_traces[] = {
    {"peak_change", UNIT_CHANGE},
    {"peak_a", UNIT_BYTES},
    {"peak_b", UNIT_BYTES},
    {"allocated_change", UNIT_CHANGE},
    {"allocated_a", UNIT_BYTES},
    {"allocated_b", UNIT_BYTES},
    {"leaked_change", UNIT_CHANGE},
    {"leaked_a", UNIT_BYTES},
    {"leaked_b", UNIT_BYTES},
    {"error", UNIT_BYTES},
    {"site", UNIT_TEXT},
    {"stack", UNIT_STACK},
};

static const struct table_column columns_of_moments[] = {
    {"live_change", UNIT_CHANGE}, {"live_a", UNIT_BYTES}, {"live_b", UNIT_BYTES},
    {"error", UNIT_BYTES},        {"site", UNIT_TEXT},    {"stack", UNIT_STACK},
};

static void fill_measures(struct table_cell *c, const struct heap_amount amounts[2][MEASURES],
                          int measures)
{
    for (int i = 0; i < measures; i++, c += 3) {
        cell_change(&c[0], amounts[0][i].bytes, amounts[1][i].bytes);
        cell_number(&c[1], amounts[0][i].bytes);
        cell_number(&c[2], amounts[1][i].bytes);
    }
}

static void fill_row(struct answer *a, struct table_cell *c, const struct entry *e,
                     const struct diff *d, enum diff_by by)
{
    double variance = e->amounts[0][by].variance + e->amounts[1][by].variance;
    struct table_frame site = frames_site(&e->heap->frames, e->stack);

    fill_measures(c, e->amounts, d->measures);
    c += d->measures * 3;
    if (variance > 0)
        cell_rounded(&c[0], sqrt(variance));
    if (e->stack) {
        cell_text(&c[1], table_frame_text(a->arena, &site));
        cell_stack(&c[2], frames_stack(&e->heap->frames, a->arena, e->stack));
    }
}

static void put_totals(struct answer *a, const struct diff *d)
{
    static const char *const names[][3] = {{"peak_change", "peak_a", "peak_b"},
                                           {"allocated_change", "allocated_a", "allocated_b"},
                                           {"leaked_change", "leaked_a", "leaked_b"}};
    static const char *const moments[3] = {"live_change", "live_a", "live_b"};
    static const struct table_column facts[] = {{"name", UNIT_TEXT}, {"value", UNIT_TEXT}};
    struct table *t = answer_add(a, "totals", TABLE_FACTS, facts, COUNT(facts));

    for (int i = 0; i < d->measures && i < MEASURES; i++) {
        const char *const *name = d->measures == 1 ? moments : names[i];

        cell_change(table_fact(a, t, name[0], UNIT_CHANGE), d->totals[0][i].bytes,
                    d->totals[1][i].bytes);
        cell_number(table_fact(a, t, name[1], UNIT_BYTES), d->totals[0][i].bytes);
        cell_number(table_fact(a, t, name[2], UNIT_BYTES), d->totals[1][i].bytes);
    }
}

/* How many differ at all, and where the numbers are from. */
static const char *note(struct answer *a, const struct diff *d, int shown, bool sampled)
{
    size_t differ = 0;

    while (differ < d->count &&
           (distance(&d->entries[differ], 0) || distance(&d->entries[differ], 1) ||
            distance(&d->entries[differ], 2)))
        differ++;
    return arena_printf(
        a->arena, "%d of %zu stacks that differ, of %zu; %s.", shown, differ, d->count,
        sampled ? "sampled: `error` is the standard error of the change sorted by" : "exact");
}

static void put_rows(struct answer *a, struct diff *d, enum diff_by by,
                     const struct question_options *o, bool sampled)
{
    bool traces = d->measures > 1;
    struct table *t = answer_add(a, "stacks", TABLE_ROWS,
                                 traces ? columns_of_traces : columns_of_moments,
                                 traces ? COUNT(columns_of_traces) : COUNT(columns_of_moments));
    uint64_t most = o->rows ? o->rows : ROWS;

    if (d->count)
        qsort_r(d->entries, d->count, sizeof(*d->entries), compare, &by);
    for (size_t i = 0; i < d->count && (uint64_t)t->rows < most; i++) {
        const struct entry *e = &d->entries[i];

        if (!distance(e, 0) && !distance(e, 1) && !distance(e, 2))
            break; /* what is equal is sorted last */
        fill_row(a, table_add(a, t), e, d, by);
    }
    t->note = note(a, d, t->rows, sampled);
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

int diff_traces(struct trace *a, struct trace *b, enum diff_by by, const struct question_options *o,
                struct answer *answer, struct err *err)
{
    struct diff d = {.measures = MEASURES};
    struct trace *traces[] = {a, b};
    struct heap heaps[2];
    int result;

    for (int i = 0; i < 2; i++) {
        heap_read(&heaps[i], answer->arena, traces[i], o, NULL, NULL);
        heap_at(&heaps[i], traces[i], HEAP_AT_PEAK, 0);
        take_side(&d, i, &heaps[i]);
    }
    result = check(&heaps[0], "the first trace", err) || check(&heaps[1], "the second trace", err)
               ? -1
               : 0;
    answer->health = both(answer, heaps[0].run.health, heaps[1].run.health);
    put_totals(answer, &d);
    put_rows(answer, &d, by, o, heaps[0].sampled || heaps[1].sampled);
    done(&d);
    heap_free(&heaps[0]);
    heap_free(&heaps[1]);
    return result;
}

int diff_moments(struct trace *t, const struct question_options *o, struct answer *answer,
                 struct err *err)
{
    const struct question_options whole = {.rows = o->rows};
    struct diff d = {.measures = 1, .addresses = true};
    struct heap heap;
    int result;

    heap_read(&heap, answer->arena, t, &whole, NULL, NULL);
    heap_at(&heap, t, HEAP_AT_TIME, o->from_ns);
    take_side(&d, 0, &heap);
    heap_at(&heap, t, o->to_ns ? HEAP_AT_TIME : HEAP_AT_END, o->to_ns);
    take_side(&d, 1, &heap);
    result = check(&heap, "the trace", err);
    covered_answer(answer, &heap.run);
    put_totals(answer, &d);
    put_rows(answer, &d, DIFF_BY_PEAK, o, heap.sampled);
    done(&d);
    heap_free(&heap);
    return result;
}
