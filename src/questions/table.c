/* table - rows grow by doubling in the answer's arena; a row's cells move when it grows, so a row
 * is filled before the next one is added.
 */
#include "analyze/table.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_FIRST 16

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

struct table_cell *table_add(struct answer *a, struct table *t)
{
    size_t row = (size_t)t->width * sizeof(struct table_cell);
    struct table_cell *cells;

    if (t->rows == t->room) {
        int room = t->room ? t->room * 2 : ROWS_FIRST;

        t->cells = arena_grow(a->arena, t->cells, row * (size_t)t->room, row * (size_t)room);
        t->room = room;
    }
    cells = t->cells + (size_t)t->rows++ * (size_t)t->width;
    memset(cells, 0, row);
    for (int i = 0; i < t->width; i++)
        cells[i].unit = (uint8_t)t->columns[i].unit;
    return cells;
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

const struct table_source *answer_source(const struct answer *a, const char *file)
{
    for (size_t i = 0; file && i < a->source_count; i++)
        if (strcmp(a->sources[i].file, file) == 0)
            return &a->sources[i];
    return NULL;
}

const char *table_source_line(const struct table_source *s, uint64_t line)
{
    return s && line && line <= s->lines ? s->text[line - 1] : NULL;
}

static const char *frame_place(struct arena *a, const struct table_frame *f)
{
    const char *module = f->module ? strrchr(f->module, '/') : NULL;

    if (f->function && f->file && f->line)
        return arena_printf(a, "%s (%s:%" PRIu64 ")", f->function, f->file, f->line);
    if (f->function)
        return f->function;
    module = module ? module + 1 : f->module;
    if (module)
        return arena_printf(a, "%s+0x%" PRIx64, module, f->address);
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
        place = arena_printf(a, "%s%s%s", place, f->flags & TABLE_FRAME_INLINED ? " [inlined]" : "",
                             f->flags & TABLE_FRAME_GUESSED ? " [guessed]" : "");
    return place;
}

struct table_cell *table_fact(struct answer *a, struct table *t, const char *name,
                              enum table_unit unit)
{
    struct table_cell *cells = table_add(a, t);

    cell_text(&cells[0], name);
    cells[1].unit = (uint8_t)unit;
    return &cells[1];
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
    if (a->unit == UNIT_CHANGE)
        return a->change < b->change;
    return is_real(a) ? a->real < b->real : a->number < b->number;
}

struct order {
    const struct table *table;
    int column;
};

static const struct table_cell *cell_at(const struct table *t, size_t row, int column)
{
    return t->cells + row * (size_t)t->width + column;
}

/* qsort promises nothing for equal rows; their old places decide. */
static int compare(const void *left, const void *right, void *context)
{
    const struct order *o = context;
    size_t l = *(const size_t *)left, r = *(const size_t *)right;
    const struct table_cell *a = cell_at(o->table, l, o->column);
    const struct table_cell *b = cell_at(o->table, r, o->column);

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
    qsort_r(places, rows, sizeof(*places), compare, &order);
    if (rows)
        memcpy(old, t->cells, rows * row);
    for (size_t i = 0; i < rows; i++)
        memcpy((char *)t->cells + i * row, old + places[i] * row, row);
    arena_free(&scratch);
}

/* The larger of each two cells of `row` and `other` into `row`. */
static void merge(const struct table *t, struct table_cell *row, const struct table_cell *other)
{
    struct table_cell time = t->width > 1 && less(&row[1], &other[1]) ? other[0] : row[0];

    for (int c = 1; c < t->width; c++)
        if (less(&row[c], &other[c]))
            row[c] = other[c];
    row[0] = time;
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
