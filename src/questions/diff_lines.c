/* diff_lines - see diff_lines.h. */
#include "questions/diff_lines.h"

#include "base/count.h"
#include "base/hash.h"
#include "base/intmap.h"
#include "base/memory.h"
#include "base/text.h"
#include "questions/alike.h"
#include "questions/line_cells.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHANGED_MOST 2000 /* lines of one side alone: of more none is looked for in the other */
#define ALIKE_LEAST 0.5   /* of the words of a line that was changed */
#define SURE 2            /* standard errors that a change must be larger than */
#define LOOK_NS 8.2e6 /* the error of where a wait began and ended: looks are about 20 ms apart */

enum {
    CPU_CHANGE,
    CPU_ERROR,
    CPU_A,
    CPU_B,
    WAITING_CHANGE,
    WAITING_ERROR,
    WAITING_A,
    WAITING_B,
    VERDICT,
    LINE_A,
    LINE_B,
    FUNCTION,
    FILE_NAME,
    TEXT
};

static const struct table_column columns[] = {
    [CPU_CHANGE] = {"cpu_change", UNIT_LONGER},
    [CPU_ERROR] = {"cpu_error", UNIT_NS},
    [CPU_A] = {"cpu_a", UNIT_NS, .detail = true},
    [CPU_B] = {"cpu_b", UNIT_NS, .detail = true},
    [WAITING_CHANGE] = {"waiting_change", UNIT_LONGER},
    [WAITING_ERROR] = {"waiting_error", UNIT_NS, .detail = true},
    [WAITING_A] = {"waiting_a", UNIT_NS, .detail = true},
    [WAITING_B] = {"waiting_b", UNIT_NS, .detail = true},
    [VERDICT] = {"verdict", UNIT_TEXT},
    [LINE_A] = {"line_a", UNIT_ID, .detail = true},
    [LINE_B] = {"line_b", UNIT_ID},
    [FUNCTION] = {"function", UNIT_TEXT, .detail = true},
    [FILE_NAME] = {"file", UNIT_TEXT},
    [TEXT] = {"text", UNIT_TEXT},
};

struct entry {
    uint64_t key, place; /* place: its file and function */
    const char *function, *file, *text;
    uint64_t lines[2]; /* the first; 0: not there */
    struct cpu_sums sums[2];
};

struct lines {
    struct intmap found; /* key -> place */
    struct entry *entries;
    size_t count, room;
};

/* ---- which lines are the same ---- */

static uint64_t hash_string(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text ? text : "", text ? strlen(text) + 1 : 1);
}

static uint64_t key_of(const struct entry *e, uint64_t line)
{
    uint64_t hash = hash_string(HASH_START, e->file ? text_base(e->file) : NULL);

    hash = hash_string(hash, e->function);
    return e->text ? hash_string(hash, e->text) : hash_mix(hash, line);
}

static struct entry describe(const struct answer *side, const struct line_sums *s, uint32_t line)
{
    const struct blame_line *l = &s->blame.lines[line];
    struct entry e = {0};
    const char *text;

    if (line < SCOPE_KINDS) {
        e.file = line_sums_kind(s, side->arena, line);
        e.key = key_of(&e, line);
        return e;
    }
    e.file = s->blame.files[l->file].path;
    e.function = s->blame.functions[l->function].name;
    text = table_source_line(answer_source(side, e.file), l->line);
    e.text = text ? text + strspn(text, " \t") : NULL;
    e.key = key_of(&e, l->line);
    return e;
}

static struct entry *entry_of(struct lines *d, const struct entry *e)
{
    uint64_t place;

    if (intmap_get(&d->found, e->key, &place))
        return &d->entries[place];
    memory_fit(d->entries, d->room, d->count + 1);
    intmap_put(&d->found, e->key, d->count);
    d->entries[d->count] = *e;
    return &d->entries[d->count++];
}

static void take_side(struct lines *d, int side, const struct line_sums *s, struct arena *arena)
{
    struct answer own = {.arena = arena}; /* for its sources */

    line_cells_answer(&own, s);
    for (uint32_t i = 0; i < s->blame.line_count; i++) {
        uint64_t line = i < SCOPE_KINDS ? 0 : s->blame.lines[i].line;
        struct entry one, *e;

        if (!s->lines[i].cpu.ns && !s->lines[i].cpu.wait_ns)
            continue;
        one = describe(&own, s, i);
        e = entry_of(d, &one);
        if (!e->lines[side] || line < e->lines[side])
            e->lines[side] = line;
        cpu_sums_add(&e->sums[side], &s->lines[i].cpu);
    }
}

/* ---- files that are called otherwise in the other run ---- */

static bool is_only_in(const struct entry *e, int side)
{
    return e->text && e->lines[side] && !e->lines[!side];
}

/* The same text in the same function, wherever. */
static uint64_t text_key(const struct entry *e)
{
    return hash_string(hash_string(HASH_START, e->function), e->text);
}

#define SEVERAL UINT64_MAX

/* Of the lines of one side alone: text -> place; SEVERAL where more than one has it. */
static struct intmap texts_of(const struct lines *d, int side)
{
    struct intmap out = {0};
    uint64_t place;

    for (size_t i = 0; i < d->count; i++)
        if (is_only_in(&d->entries[i], side)) {
            uint64_t key = text_key(&d->entries[i]);

            intmap_put(&out, key, intmap_get(&out, key, &place) ? SEVERAL : i);
        }
    return out;
}

/* A line of each side alone is one that both have. */
static void join(struct entry *e, struct entry *other)
{
    e->file = other->file;
    e->lines[1] = other->lines[1];
    e->sums[1] = other->sums[1];
    other->lines[1] = 0; /* of neither side any more */
}

/* A script that was copied to change it, a package in another place: one line is not two that
 * differ. */
static void join_renamed(struct lines *d)
{
    struct intmap texts[2] = {texts_of(d, 0), texts_of(d, 1)};

    for (size_t i = 0; i < d->count; i++) {
        struct entry *e = &d->entries[i], *other;
        uint64_t key = text_key(e), of_a, of_b;

        if (!is_only_in(e, 0) || !intmap_get(&texts[0], key, &of_a) || of_a == SEVERAL ||
            !intmap_get(&texts[1], key, &of_b) || of_b == SEVERAL)
            continue;
        other = &d->entries[of_b];
        join(e, other);
    }
    intmap_free(&texts[0]);
    intmap_free(&texts[1]);
}

/* ---- lines whose text was changed ---- */

/* The entry of another side alone that is most like it, of the same function; NULL: none is. */
static struct entry *likest(const struct lines *d, const struct entry *e, int side)
{
    struct entry *best = NULL;
    double most = ALIKE_LEAST;

    for (size_t i = 0; i < d->count; i++) {
        struct entry *other = &d->entries[i];
        double part;

        if (!is_only_in(other, side) || other->place != e->place)
            continue;
        part = alike_lines(e->text, other->text);
        if (part > most || (!best && part >= most))
            best = other, most = part;
    }
    return best;
}

static void join_changed(struct lines *d)
{
    size_t alone = 0;

    for (size_t i = 0; i < d->count; i++) {
        struct entry *e = &d->entries[i];

        e->place = hash_string(hash_string(HASH_START, e->file ? text_base(e->file) : ""),
                               e->function);
        alone += is_only_in(e, 0);
    }
    for (size_t i = 0; i < d->count && alone <= CHANGED_MOST; i++) {
        struct entry *e = &d->entries[i];
        struct entry *other = is_only_in(e, 0) ? likest(d, e, 1) : NULL;

        if (other && likest(d, other, 0) == e) {
            e->text = other->text;
            join(e, other);
        }
    }
}

static void drop_joined(struct lines *d)
{
    size_t kept = 0;

    for (size_t i = 0; i < d->count; i++)
        if (!d->entries[i].text || d->entries[i].lines[0] || d->entries[i].lines[1])
            d->entries[kept++] = d->entries[i];
    d->count = kept;
}

/* ---- what has changed ---- */

static double cpu_error(const struct cpu_sums *sides)
{
    return sqrt(sides[0].squares + sides[1].squares);
}

/* Time in the run queue has records, too, but is no waiting. */
static double waiting_error(const struct cpu_sums *sides)
{
    uint64_t waits = 0;

    for (int i = 0; i < 2; i++)
        waits += sides[i].wait_ns ? sides[i].waits : 0;
    return LOOK_NS * sqrt((double)waits);
}

static double change(uint64_t a, uint64_t b)
{
    return (double)b - (double)a;
}

static const char *pick(double by, double error, const char *more, const char *less)
{
    return fabs(by) <= SURE * error ? NULL : by > 0 ? more : less;
}

static const char *verdict(struct arena *a, const struct entry *e)
{
    const char *cpu = pick(change(e->sums[0].ns, e->sums[1].ns), cpu_error(e->sums), "slower",
                           "faster");
    const char *waits = pick(change(e->sums[0].wait_ns, e->sums[1].wait_ns), waiting_error(e->sums),
                             "waits longer", "waits less");

    if (cpu && waits)
        return arena_printf(a, "%s, %s", cpu, waits);
    return cpu ? cpu : waits ? waits : "unclear";
}

static double distance(const struct entry *e, enum diff_lines_by by)
{
    double cpu = fabs(change(e->sums[0].ns, e->sums[1].ns));
    double waiting = fabs(change(e->sums[0].wait_ns, e->sums[1].wait_ns));

    return by == DIFF_LINES_BY_CPU     ? cpu
         : by == DIFF_LINES_BY_WAITING ? waiting
                                       : fmax(cpu, waiting);
}

/* What is no line of the program comes after all that is. */
static int compare(const void *left, const void *right, const void *by)
{
    const struct entry *l = left, *r = right;
    double x = distance(l, *(const enum diff_lines_by *)by),
           y = distance(r, *(const enum diff_lines_by *)by);

    if (!l->function != !r->function)
        return l->function ? -1 : 1;
    if (x < y || x > y)
        return x > y ? -1 : 1;
    return l->key < r->key ? -1 : l->key > r->key;
}

/* ---- tables ---- */

static void fill_times(struct table_cell *c, const struct cpu_sums *sides,
                       const struct line_sums *of)
{
    if (of[0].cpu_known && of[1].cpu_known) {
        cell_change(&c[CPU_CHANGE], sides[0].ns, sides[1].ns);
        cell_rounded(&c[CPU_ERROR], cpu_error(sides));
        cell_number(&c[CPU_A], sides[0].ns);
        cell_number(&c[CPU_B], sides[1].ns);
    }
    if (of[0].waits_known && of[1].waits_known) {
        cell_change(&c[WAITING_CHANGE], sides[0].wait_ns, sides[1].wait_ns);
        cell_rounded(&c[WAITING_ERROR], waiting_error(sides));
        cell_number(&c[WAITING_A], sides[0].wait_ns);
        cell_number(&c[WAITING_B], sides[1].wait_ns);
    }
}

static void put_totals(struct answer *a, struct table *totals, const struct line_sums *sides)
{
    const struct cpu_sums sums[2] = {sides[0].sum.cpu, sides[1].sum.cpu};
    struct table_cell cells[COUNT(columns)] = {0};

    fill_times(cells, sums, sides);
    for (int i = CPU_CHANGE; i <= WAITING_B; i++) {
        cells[i].unit = (uint8_t)columns[i].unit;
        if (cells[i].present)
            *table_fact(a, totals, columns[i].name, columns[i].unit) = cells[i];
    }
}

static void put_row(struct answer *a, struct table *t, const struct entry *e,
                    const struct line_sums *sides)
{
    struct table_cell *c = table_add(a, t);

    fill_times(c, e->sums, sides);
    cell_text(&c[VERDICT], verdict(a->arena, e));
    if (e->lines[0])
        cell_number(&c[LINE_A], e->lines[0]);
    if (e->lines[1])
        cell_number(&c[LINE_B], e->lines[1]);
    cell_text(&c[FUNCTION], e->function);
    cell_text(&c[FILE_NAME], e->file);
    cell_text(&c[TEXT], e->text);
}

bool diff_lines_known(const struct line_sums *sides)
{
    return (sides[0].cpu_known && sides[1].cpu_known) ||
           (sides[0].waits_known && sides[1].waits_known);
}

void diff_lines_add(struct answer *a, struct table *totals, const struct line_sums *sides,
                    enum diff_lines_by by, uint64_t most)
{
    struct lines d = {0};
    struct table *t;

    if (!diff_lines_known(sides))
        return;
    put_totals(a, totals, sides);
    t = answer_add(a, "lines", TABLE_ROWS, columns, COUNT(columns));
    for (int i = 0; i < 2; i++)
        take_side(&d, i, &sides[i], a->arena);
    join_renamed(&d);
    join_changed(&d);
    drop_joined(&d);
    memory_sort_with(d.entries, d.count, sizeof(*d.entries), compare, &by);
    for (size_t i = 0; i < d.count && (uint64_t)t->rows < most; i++)
        put_row(a, t, &d.entries[i], sides);
    t->note = arena_printf(
        a->arena,
        "%d of %zu lines. Both runs are sampled: an error is the standard error of the change, and "
        "what is within twice that is unclear. What differs from run to run by itself is not in "
        "it: compare more than one.",
        t->rows, d.count);
    intmap_free(&d.found);
    free(d.entries);
}
