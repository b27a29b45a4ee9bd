/* format_csv - tables as csv.h writes them; plain numbers, absent is empty.
 *
 * An answer whose rows are one table is that table alone, so that any reader takes it; a table of
 * source lines always is. Several tables follow each other, each under a line "# name" and with an
 * empty line before the next. A series is its values, each the largest of a step, with spaces
 * between them.
 */
#include "report/csv.h"
#include "report/formats.h"
#include "report/show.h"

#include <inttypes.h>
#include <string.h>

/* The frames joined by ';', the innermost first. */
static void put_stack(const struct table_cell *c, FILE *out)
{
    const struct table_stack *s = c->present ? c->stack : NULL;
    bool first = true;

    fputs(s ? "\"" : "", out);
    for (; s; s = s->outer)
        for (int i = 0; i < s->own; i++) {
            struct arena scratch = {0};
            const char *text = table_frame_text(&scratch, &s->frames[i]);

            fputs(!first ? ";" : csv_is_formula(text) ? "'" : "", out);
            first = false;
            csv_inside(text, out);
            arena_free(&scratch);
        }
    fputs(!first ? "\"" : "", out);
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
    else if (c->unit == UNIT_TEXT)
        csv_text(show_plain(text, c), out);
    else
        fputs(show_plain(text, c), out);
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
            put_cell(table_at(t, row, i), out);
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
    .summary = "one table with a heading (several: each under '# name')",
    .write = write_csv,
};
