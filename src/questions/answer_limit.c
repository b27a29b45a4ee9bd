/* answer_limit - see answer_limit.h. Bytes are counted as JSON writes them; what other formats take
 * is not much more. */
#include "questions/answer_limit.h"

#include "base/emit.h"
#include "base/intmap.h"
#include "model/allowed.h"

#include <inttypes.h>
#include <string.h>

#define TEXT_MOST 512 /* bytes of a text, where not all fit */
#define CELL_BYTES 24 /* a number with what is around it, */
#define TEXT_BYTES 96 /* and a text, which others make columns wide with */
#define POINT_BYTES 40

struct bounding {
    struct answer *answer;
    uint64_t most;
    struct intmap sizes; /* of texts, by their place */
    struct intmap cut;   /* texts that are cut, by the place of the whole */
    uint64_t excess;     /* bytes of texts behind TEXT_MOST, in all cells */
    uint64_t texts, rows;
};

static uint64_t size_of_text(struct bounding *b, const char *text)
{
    uint64_t size;

    if (!intmap_get(&b->sizes, (uintptr_t)text, &size)) {
        size = emit_text_size(text);
        intmap_put(&b->sizes, (uintptr_t)text, size);
    }
    return size;
}

static uint64_t size_of_cell(struct bounding *b, const struct table_cell *c)
{
    uint64_t size;

    if (!c->present)
        return CELL_BYTES;
    switch (c->unit) {
    case UNIT_TEXT:
        size = size_of_text(b, c->text);
        b->excess += size > TEXT_MOST ? size - TEXT_MOST : 0;
        return TEXT_BYTES + size;
    case UNIT_STACK:
        return CELL_BYTES + c->stack->bytes;
    case UNIT_SERIES:
        return CELL_BYTES + POINT_BYTES * (uint64_t)c->series->count;
    default:
        return CELL_BYTES;
    }
}

static uint64_t size_of_row(struct bounding *b, const struct table *t, int row)
{
    uint64_t size = 0;

    for (int i = 0; i < t->width; i++)
        size += strlen(t->columns[i].name) + size_of_cell(b, table_at(t, row, i));
    return size;
}

static uint64_t size_of_table(struct bounding *b, const struct table *t)
{
    uint64_t size = 0;

    for (int row = 0; row < t->rows; row++)
        size += size_of_row(b, t, row);
    return size;
}

static uint64_t size_of_answer(struct bounding *b)
{
    uint64_t size = 0;

    for (int i = 0; i < b->answer->count; i++)
        size += size_of_table(b, b->answer->tables[i]);
    return size;
}

/* ---- what does not fit ---- */

/* The beginning of a text, not ending within a letter. */
static const char *cut_text(struct bounding *b, const char *text)
{
    size_t n = TEXT_MOST;
    uint64_t known;
    const char *cut;

    if (intmap_get(&b->cut, (uintptr_t)text, &known))
        return (const char *)(uintptr_t)known;
    while (n > TEXT_MOST - 4 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    cut = arena_printf(b->answer->arena, "%.*s...", (int)n, text);
    intmap_put(&b->cut, (uintptr_t)text, (uintptr_t)cut);
    return cut;
}

static void cut_texts(struct bounding *b, struct table *t)
{
    for (size_t i = 0; i < (size_t)t->rows * (size_t)t->width; i++) {
        struct table_cell *c = &t->cells[i];

        if (!c->present || c->unit != UNIT_TEXT || strnlen(c->text, TEXT_MOST + 1) <= TEXT_MOST)
            continue;
        c->text = cut_text(b, c->text);
        b->texts++;
    }
}

/* Rows are the largest first, or in an order of their own: the last ones go. */
static void cut_rows(struct bounding *b, struct table *t, uint64_t room)
{
    uint64_t size = 0;
    int row = 0;

    if (t->shape == TABLE_FACTS)
        return;
    while (t->shape == TABLE_TIMELINE && t->rows > 1 && size_of_table(b, t) > room) {
        b->rows += (uint64_t)t->rows / 2;
        table_halve(t);
    }
    for (; row < t->rows; row++) {
        size += size_of_row(b, t, row);
        if (size > room)
            break;
    }
    b->rows += (uint64_t)(t->rows - row);
    t->rows = row;
}

/* Each table has an equal part, and what those before it have left. */
static void cut(struct bounding *b)
{
    struct answer *a = b->answer;
    uint64_t room = 0;

    for (int i = 0; i < a->count; i++)
        cut_texts(b, a->tables[i]);
    if (size_of_answer(b) <= b->most)
        return;
    for (int i = 0; i < a->count; i++) {
        uint64_t size;

        room += b->most / (uint64_t)a->count;
        cut_rows(b, a->tables[i], room);
        size = size_of_table(b, a->tables[i]);
        room -= size < room ? size : room;
    }
}

/* ---- what is said of it ---- */

static void add(struct answer *a, uint64_t count, const char *what)
{
    if (count)
        a->left_out = arena_printf(a->arena, "%s%s%" PRIu64 " %s", a->left_out ? a->left_out : "",
                                   a->left_out ? ", " : "", count, what);
}

static void finish(struct bounding *b)
{
    struct answer *a = b->answer;

    add(a, b->rows, "rows of this answer");
    add(a, b->texts, "ends of long texts");
    if (a->left_out)
        a->left_out = arena_printf(
            a->arena, "Left out, as a trace of this size cannot have so many of its own: %s.",
            a->left_out);
    intmap_free(&b->sizes);
    intmap_free(&b->cut);
}

static void take_models(struct answer *a, const struct recorded *r)
{
    add(a, r->frames.cut, "stacks' callers");
    add(a, r->cpu.left_out, "samples");
    add(a, r->regions.left_out, "regions");
    a->file_bytes += r->names.file_bytes;
}

void answer_limit_both(struct answer *a, const struct recorded *one, const struct recorded *two)
{
    struct bounding b = {.answer = a};

    a->file_bytes = 0;
    take_models(a, one);
    if (two)
        take_models(a, two);
    b.most = ALLOWED_ANSWER(a->file_bytes);
    if (size_of_answer(&b) > b.most || b.excess > ALLOWED_TEXT(a->file_bytes))
        cut(&b);
    finish(&b);
}

void answer_limit(struct answer *a, const struct recorded *r)
{
    answer_limit_both(a, r, NULL);
}
