/* format_csv - quoted as RFC 4180 says, lines end in LF; plain numbers, absent is empty.
 *
 * An answer whose rows are one table is that table alone, so that any reader takes it; a table of
 * source lines always is. Several tables follow each other, each under a line "# name" and with an
 * empty line before the next. A series is its values, each the largest of a step, with spaces
 * between them.
 */
#include "report/formats.h"
#include "report/show.h"

#include <inttypes.h>
#include <string.h>

static void put_text(const char *text, FILE *out)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

/* The frames joined by ';', the innermost first. */
static void put_stack(const struct table_cell *c, FILE *out)
{
    struct arena scratch = {0};
    const char *line = "";

    for (int i = 0; c->present && i < c->stack->count; i++)
        line = arena_printf(&scratch, "%s%s%s", line, i ? ";" : "",
                            table_frame_text(&scratch, &c->stack->frames[i]));
    put_text(line, out);
    arena_free(&scratch);
}

static void put_series(const struct table_series *s, FILE *out)
{
    for (int i = 0; i < s->count; i++)
        fprintf(out, "%s%" PRIu64, i ? " " : "", s->bytes[i]);
}

static void put_cell(const struct table_cell *c, FILE *out)
{
    char text[SHOW_ROOM];

    if (c->unit == UNIT_SERIES && c->present) {
        put_series(c->series, out);
        return;
    }
    if (c->unit == UNIT_STACK)
        put_stack(c, out);
    else
        put_text(show_plain(text, c), out);
}

static void put_table(const struct table *t, FILE *out)
{
    for (int i = 0; i < t->width; i++)
        fprintf(out, "%s%s", i ? "," : "", t->columns[i].name);
    fputc('\n', out);
    for (int row = 0; row < t->rows; row++) {
        for (int i = 0; i < t->width; i++) {
            if (i)
                fputc(',', out);
            put_cell(&t->cells[(size_t)row * (size_t)t->width + (size_t)i], out);
        }
        fputc('\n', out);
    }
}

/* The one table that is not a list of facts, or has the source lines; NULL where there are more, or
 * none.
 */
static const struct table *only_table(const struct answer *a)
{
    const struct table *only = NULL;

    for (int i = 0; i < a->count; i++)
        if (a->tables[i]->shape == TABLE_SOURCE)
            return a->tables[i];
    for (int i = 0; i < a->count; i++) {
        if (a->tables[i]->shape == TABLE_FACTS)
            continue;
        if (only)
            return NULL;
        only = a->tables[i];
    }
    return only;
}

static void write_csv(const struct answer *a, FILE *out)
{
    const struct table *only = only_table(a);

    if (only) {
        put_table(only, out);
        return;
    }
    for (int i = 0; i < a->count; i++) {
        fprintf(out, "%s# %s\n", i ? "\n" : "", a->tables[i]->name);
        put_table(a->tables[i], out);
    }
}

const struct format format_csv = {
    .name = "csv",
    .summary = "comma-separated values with a heading, for spreadsheets and scripts",
    .write = write_csv,
};
