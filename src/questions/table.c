/* table - rows grow by doubling in the answer's arena; a row's cells move when it grows, so a row
 * is filled before the next one is added.
 */
#include "questions/table.h"

#include "base/search.h"
#include "base/text.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_FIRST 16
#define TEXTS_MANY ((size_t)512 << 20) /* bytes of an arena: from here on names are cut */
#define NAME_MOST 256
#define MINOR_LEAST 3 /* rows: fewer are worth their lines */
#define MINOR_BELOW 0.05
#define SITE_MOST 48 /* letters of a function's name within a sentence */

struct table *answer_add(struct answer *a, const char *name, enum table_shape shape,
                         const struct table_column *columns, int width)
{
    size_t held = (size_t)a->count * sizeof(struct table *);
    struct table *t = arena_alloc(a->arena, sizeof(*t));

    t->name = name;
    t->shape = shape;
    t->columns = columns;
    t->width = width;
    a->tables = arena_grow(a->arena, a->tables, held, held + sizeof(struct table *));
    a->tables[a->count++] = t;
    return t;
}

struct table *answer_facts(struct answer *a, const char *name)
{
    static const struct table_column columns[TABLE_FACT_WIDTH] = {
        [TABLE_NAME] = {"name", UNIT_TEXT},
        [TABLE_VALUE] = {"value", UNIT_TEXT},
    };

    return answer_add(a, name, TABLE_FACTS, columns, TABLE_FACT_WIDTH);
}

struct table_cell *table_add(struct answer *a, struct table *t)
{
    size_t row = (size_t)t->width * sizeof(struct table_cell);
    struct table_cell *cells;

    arena_fit(a->arena, t->cells, t->room, (size_t)(t->rows + 1) * (size_t)t->width);
    cells = t->cells + (size_t)t->rows++ * (size_t)t->width;
    memset(cells, 0, row);
    for (int i = 0; i < t->width; i++)
        cells[i].unit = (uint8_t)t->columns[i].unit;
    return cells;
}

static bool is_minor(const struct table *t, int row, int percent)
{
    const struct table_cell *c = table_at(t, row, percent);

    return c->present && c->real < MINOR_BELOW;
}

static bool adds_up_the_rest(const struct table *t, int row)
{
    const struct table_cell *last = table_at(t, row, t->width - 1);

    return last->unit == UNIT_STACK && !last->present;
}

void table_find_minor(struct table *t, int percent, int from)
{
    int to = t->rows, at;

    to -= to > from && adds_up_the_rest(t, to - 1);
    for (at = to; at > from && is_minor(t, at - 1, percent);)
        at--;
    if (to - at < MINOR_LEAST)
        return;
    t->minor_from = at;
    t->minor = to - at;
}

void cell_number(struct table_cell *c, uint64_t number)
{
    c->number = number;
    c->present = true;
}

void cell_rounded(struct table_cell *c, double number)
{
    cell_number(c, text_rounded(number));
}

void cell_real(struct table_cell *c, double real)
{
    c->real = real;
    c->present = true;
}

void cell_text(struct table_cell *c, const char *text)
{
    c->text = text;
    c->present = text != NULL;
}

void cell_change(struct table_cell *c, uint64_t from, uint64_t to)
{
    uint64_t far = to > from ? to - from : from - to;
    int64_t change = far > INT64_MAX ? INT64_MAX : (int64_t)far;

    c->change = to > from ? change : -change;
    c->present = true;
}

void cell_stack(struct table_cell *c, const struct table_stack *stack)
{
    c->stack = stack;
    c->present = stack != NULL;
}

void cell_series(struct table_cell *c, const struct table_series *series)
{
    c->series = series;
    c->present = series != NULL;
}

const struct table_frame *table_stack_whole(struct arena *a, const struct table_stack *stack)
{
    struct table_frame *all;
    int count = 0;

    if (!stack->outer)
        return stack->frames;
    all = arena_alloc(a, (size_t)stack->count * sizeof(*all));
    for (; stack; stack = stack->outer) {
        memcpy(all + count, stack->frames, (size_t)stack->own * sizeof(*all));
        count += stack->own;
    }
    return all;
}

const struct table_source *answer_source(const struct answer *a, const char *file)
{
    size_t low = 0;

    SEARCH(low, a->source_count, i, (uintptr_t)a->sources[i].file < (uintptr_t)file);
    return low < a->source_count && a->sources[low].file == file ? &a->sources[low] : NULL;
}

const char *table_source_line(const struct table_source *s, uint64_t line)
{
    return s && line && line <= s->lines ? s->text[line - 1] : NULL;
}

/* A long name that is made part of many texts takes all memory there is. */
static int name_most(const struct arena *a)
{
    return arena_bytes(a) > TEXTS_MANY ? NAME_MOST : INT_MAX;
}

static const char *frame_place(struct arena *a, const struct table_frame *f)
{
    const char *module = text_base(f->module);
    int most = name_most(a);

    if (f->function && f->file && f->line)
        return arena_printf(a, "%.*s (%.*s:%" PRIu64 ")", most, f->function, most, f->file,
                            f->line);
    if (f->function)
        return f->function;
    if (module)
        return arena_printf(a, "%.*s+0x%" PRIx64, most, module, f->address);
    return arena_printf(a, "0x%" PRIx64, f->address);
}

const char *table_frame_text(struct arena *a, const struct table_frame *f)
{
    const char *place;

    if (f->flags & TABLE_FRAME_ELIDED)
        return "[frames left out]";
    if (f->flags & TABLE_FRAME_CUT)
        return "[not followed further]";
    place = frame_place(a, f);
    if (f->flags & (TABLE_FRAME_INLINED | TABLE_FRAME_GUESSED))
        place = arena_printf(a, "%.*s%s%s", name_most(a), place,
                             f->flags & TABLE_FRAME_INLINED ? " [inlined]" : "",
                             f->flags & TABLE_FRAME_GUESSED ? " [guessed]" : "");
    return place;
}

/* "walk<…>(…)": what is in brackets left out. As it is where they do not match: operator-> and its
 * like. */
static const char *without_arguments(struct arena *a, const char *name)
{
    char *out = arena_alloc(a, strlen(name) * 2 + 1), *to = out; /* "()" becomes "(…)" */
    int depth = 0;

    for (const char *c = name; *c; c++) {
        bool opens = *c == '(' || *c == '<', closes = *c == ')' || *c == '>';

        if (closes && --depth < 0)
            return name;
        if (depth == 0)
            *to++ = *c;
        if (opens && depth++ == 0)
            to = stpcpy(to, "…");
    }
    *to = '\0';
    return depth == 0 ? out : name;
}

const char *table_site_text(struct arena *a, const struct table_frame *f)
{
    struct table_frame site = *f;

    site.file = text_source(site.file);
    site.flags &= (uint8_t)~TABLE_FRAME_INLINED;
    if (site.function && text_width(site.function) > SITE_MOST)
        site.function = without_arguments(a, site.function);
    return table_frame_text(a, &site);
}

struct table_cell *table_fact(struct answer *a, struct table *t, const char *name,
                              enum table_unit unit)
{
    struct table_cell *cells = table_add(a, t);

    cell_text(&cells[TABLE_NAME], name);
    cells[TABLE_VALUE].unit = (uint8_t)unit;
    return &cells[TABLE_VALUE];
}

const struct table_cell *table_at(const struct table *t, int row, int column)
{
    return &t->cells[(size_t)row * (size_t)t->width + (size_t)column];
}

const struct table_cell *table_find_fact(const struct table *t, const char *name)
{
    for (int i = 0; t && i < t->rows; i++) {
        const struct table_cell *value = table_at(t, i, TABLE_VALUE);

        if (value->present && strcmp(table_at(t, i, TABLE_NAME)->text, name) == 0)
            return value;
    }
    return NULL;
}

static bool is_real(const struct table_cell *c)
{
    return c->unit == UNIT_PERCENT || c->unit == UNIT_REAL;
}

/* Absent is less than everything; texts and stacks are all equal. */
static bool less(const struct table_cell *a, const struct table_cell *b)
{
    if (!a->present || !b->present)
        return b->present && !a->present;
    if (a->unit == UNIT_TEXT || a->unit == UNIT_STACK)
        return false;
    if (a->unit == UNIT_CHANGE || a->unit == UNIT_LONGER)
        return a->change < b->change;
    return is_real(a) ? a->real < b->real : a->number < b->number;
}

struct order {
    const struct table *table;
    int column;
};

/* qsort promises nothing for equal rows; their old places decide. */
static int compare(const void *left, const void *right, const void *context)
{
    const struct order *o = context;
    size_t l = *(const size_t *)left, r = *(const size_t *)right;
    const struct table_cell *a = table_at(o->table, (int)l, o->column);
    const struct table_cell *b = table_at(o->table, (int)r, o->column);

    if (less(a, b))
        return 1;
    if (less(b, a))
        return -1;
    return l < r ? -1 : l > r;
}

void table_sort(struct table *t, int column)
{
    struct arena scratch = {0};
    struct order order = {t, column};
    size_t rows = (size_t)t->rows, row = (size_t)t->width * sizeof(struct table_cell);
    size_t *places = arena_alloc(&scratch, rows * sizeof(*places));
    char *old = arena_alloc(&scratch, rows * row);

    for (size_t i = 0; i < rows; i++)
        places[i] = i;
    memory_sort_with(places, rows, sizeof(*places), compare, &order);
    if (rows)
        memcpy(old, t->cells, rows * row);
    for (size_t i = 0; i < rows; i++)
        memcpy((char *)t->cells + i * row, old + places[i] * row, row);
    arena_free(&scratch);
}

/* The larger of each two cells of `row` and `other` into `row`; the time is that of the larger
 * first value.
 */
static void merge(const struct table *t, struct table_cell *row, const struct table_cell *other)
{
    const int first = TABLE_TIME + 1;

    if (t->width > first && less(&row[first], &other[first]))
        row[TABLE_TIME] = other[TABLE_TIME];
    for (int c = first; c < t->width; c++)
        if (less(&row[c], &other[c]))
            row[c] = other[c];
}

void table_halve(struct table *t)
{
    size_t width = (size_t)t->width;
    int rows = 0;

    for (int i = 0; i < t->rows; i += 2, rows++) {
        struct table_cell *to = t->cells + (size_t)rows * width,
                          *from = t->cells + (size_t)i * width;

        memmove(to, from, width * sizeof(*to));
        if (i + 1 < t->rows)
            merge(t, to, from + width);
    }
    t->rows = rows;
}

void table_fold(struct table *t)
{
    struct table_cell *last = t->cells + (size_t)(t->rows - 1) * (size_t)t->width;

    if (t->rows < 2)
        return;
    merge(t, last - t->width, last);
    t->rows--;
}

static bool has_table(const struct answer *a, const char *name)
{
    for (int i = 0; i < a->count; i++)
        if (strcmp(a->tables[i]->name, name) == 0)
            return true;
    return false;
}

void answer_join(struct answer *a, const struct answer *other)
{
    int before = a->count;

    for (int i = 0; i < other->count; i++) {
        struct answer so_far = {.tables = a->tables, .count = before};

        if (has_table(&so_far, other->tables[i]->name))
            continue;
        a->tables = arena_grow(a->arena, a->tables, (size_t)a->count * sizeof(struct table *),
                               ((size_t)a->count + 1) * sizeof(struct table *));
        a->tables[a->count++] = other->tables[i];
    }
}
