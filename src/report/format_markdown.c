/* format_markdown - tables as the job pages and comments of code hosts show them. Facts are a list;
 * of a table with stacks, each stack is a folded block below it; series are left out. Nothing of a
 * trace becomes markup: names stand as code, and what could end that is replaced.
 */
#include "base/utf8.h"
#include "report/formats.h"
#include "report/show.h"

#include <string.h>

#define ROWS_MOST 25 /* of a table: it is read by people, on a page with other things */

/* As code, where only a backtick and, in a table, a bar mean anything. */
static void put_code(const char *text, FILE *out)
{
    fputc('`', out);
    while (*text) {
        const char *shown;
        int n = utf8_show(&text, &shown);

        if (*shown == '`')
            fputc('\'', out);
        else if (*shown == '|')
            fputs("\\|", out);
        else
            fwrite(shown, 1, (size_t)n, out);
    }
    fputc('`', out);
}

static void put_cell(const struct table_cell *c, FILE *out)
{
    char text[SHOW_ROOM];

    if (c->unit != UNIT_TEXT || !c->present)
        fputs(show_cell(text, c), out);
    else if (*c->text)
        put_code(c->text, out);
}

static void put_facts(const struct table *t, FILE *out)
{
    for (int row = 0; row < t->rows; row++) {
        const char *name = table_at(t, row, TABLE_NAME)->text;

        if (!table_at(t, row, TABLE_VALUE)->present) /* who reads it wants to know what is known */
            continue;
        fputs("- ", out);
        for (; *name; name++)
            fputc(*name == '_' ? ' ' : *name, out);
        fputs(": ", out);
        put_cell(table_at(t, row, TABLE_VALUE), out);
        fputc('\n', out);
    }
}

/* "- `what`; ask `question`". */
static void put_findings(const struct table *t, FILE *out)
{
    for (int row = 0; row < t->rows; row++) {
        fputs("- ", out);
        put_cell(table_at(t, row, TABLE_WHAT), out);
        if (table_at(t, row, TABLE_LOOK_AT)->present) {
            fputs("; ask ", out);
            put_cell(table_at(t, row, TABLE_LOOK_AT), out);
        }
        fputc('\n', out);
    }
}

static bool is_shown(const struct table_column *c)
{
    return !c->detail && c->unit != UNIT_STACK && c->unit != UNIT_SERIES && c->unit != UNIT_DEPTH;
}

static void put_heading(const struct table *t, FILE *out)
{
    for (int i = 0; i < t->width; i++)
        if (is_shown(&t->columns[i])) {
            fputs("| ", out);
            for (const char *name = t->columns[i].name; *name; name++)
                fputc(*name == '_' ? ' ' : *name, out);
            fputc(' ', out);
        }
    fputs("|\n", out);
    for (int i = 0; i < t->width; i++)
        if (is_shown(&t->columns[i]))
            fputs(show_is_text(t->columns[i].unit) ? "| --- " : "| ---: ", out);
    fputs("|\n", out);
}

static void put_row(const struct table *t, int row, FILE *out)
{
    for (int i = 0; i < t->width; i++)
        if (is_shown(&t->columns[i])) {
            fputs("| ", out);
            put_cell(table_at(t, row, i), out);
            fputc(' ', out);
        }
    fputs("|\n", out);
}

static void put_rows(const struct table *t, FILE *out)
{
    if (!t->rows)
        return;
    put_heading(t, out);
    for (int row = 0; row < t->rows && row < ROWS_MOST; row++)
        put_row(t, row, out);
    if (t->rows > ROWS_MOST)
        fprintf(out, "\n%d more rows are left out.\n", t->rows - ROWS_MOST);
}

static void put_line(const char *text, FILE *out)
{
    if (!text)
        return;
    fputc('\n', out);
    put_code(text, out);
    fputc('\n', out);
}

static void put_name(const char *name, FILE *out)
{
    fputs("**", out);
    for (; *name; name++)
        fputc(*name == '_' ? ' ' : *name, out);
    fputs("**\n\n", out);
}

static void write_markdown(const struct answer *a, FILE *out)
{
    fputs("### tidemark: ", out);
    put_code(a->question, out);
    fputs("\n", out);
    for (int i = 0; i < a->count; i++) {
        const struct table *t = a->tables[i];

        fprintf(out, "\n");
        if (a->count > 1 && t->shape != TABLE_FACTS && t->rows)
            put_name(t->name, out);
        if (t->shape == TABLE_FINDINGS)
            put_findings(t, out);
        else
            (t->shape == TABLE_FACTS ? put_facts : put_rows)(t, out);
        put_line(t->note, out);
    }
    put_line(a->left_out, out);
    put_line(a->health, out);
    put_line(a->coverage ? a->coverage->line : NULL, out);
}

const struct format format_markdown = {
    .name = "markdown",
    .summary = "tables for job pages and comments, 25 rows each",
    .first = "overview",
    .write = write_markdown,
};
