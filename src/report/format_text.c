/* format_text - for reading in a terminal: aligned facts, tables (rows.c), timelines as charts
 * (chart.c), source with numbers beside it (annotate.c).
 */
#include "report/annotate.h"
#include "report/chart.h"
#include "report/formats.h"
#include "report/rows.h"
#include "report/show.h"
#include "report/terminal.h"

#include <stdlib.h>
#include <string.h>

#define UNNAMED_SHOWN 3
#define SCREEN_LINES 24   /* of a terminal: what the first screen has room for */
#define SCREEN_END "next" /* the last table of the first screen */
#define SERIES_WIDTH 40
#define LEAST "_at_least"
#define MOST "_at_most"

static void put_title(const char *name, const struct terminal *terminal, FILE *out)
{
    fputs(terminal->colour ? "\033[1m" : "", out);
    terminal_put_name(out, name, strlen(name));
    fputs(terminal->colour ? "\033[0m\n" : "\n", out);
}

/* ---- facts ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n > m && strcmp(text + n - m, end) == 0;
}

/* Is row i, with the next, a number known by its bounds? */
static bool is_bounded(const struct table *t, int i)
{
    const char *least = table_at(t, i, TABLE_NAME)->text, *most;

    if (i + 1 >= t->rows || !ends_with(least, LEAST))
        return false;
    most = table_at(t, i + 1, TABLE_NAME)->text;
    return ends_with(most, MOST) &&
           strncmp(least, most, strlen(least) - strlen(LEAST) + strlen("_at_")) == 0;
}

static void put_bounds(const struct table_cell *least, const struct table_cell *most, FILE *out)
{
    char low[SHOW_ROOM], high[SHOW_ROOM];

    if (!least->present && most->present)
        fprintf(out, "at most %s", show_cell(high, most));
    else if (!least->present)
        fputs(show_cell(low, least), out);
    else if (!most->present)
        fprintf(out, "at least %s", show_cell(low, least));
    else if (least->number == most->number)
        fprintf(out, "%s (exact)", show_cell(low, least));
    else
        fprintf(out, "%s or more, at most %s", show_cell(low, least), show_cell(high, most));
}

static size_t name_length(const struct table *t, int i)
{
    size_t n = strlen(table_at(t, i, TABLE_NAME)->text);

    return is_bounded(t, i) ? n - strlen(LEAST) : n;
}

static void put_fact(const struct table_cell *c, int column, const struct terminal *terminal,
                     FILE *out)
{
    char text[SHOW_ROOM];

    if (c->unit == UNIT_SERIES && c->present)
        chart_series(c->series, SERIES_WIDTH, terminal, out);
    else
        terminal_put_wrapped(out, show_cell(text, c), column, terminal);
}

static void put_facts(const struct table *t, const struct terminal *terminal, FILE *out)
{
    size_t widest = 0;

    for (int i = 0; i < t->rows; i++)
        widest = name_length(t, i) > widest ? name_length(t, i) : widest;
    for (int i = 0; i < t->rows; i++) {
        size_t n = name_length(t, i);

        terminal_put_name(out, table_at(t, i, TABLE_NAME)->text, n);
        terminal_put_padding(out, (int)(widest - n) + TERMINAL_GAP);
        if (is_bounded(t, i)) {
            put_bounds(table_at(t, i, TABLE_VALUE), table_at(t, i + 1, TABLE_VALUE), out);
            i++;
        } else {
            put_fact(table_at(t, i, TABLE_VALUE), (int)widest + TERMINAL_GAP, terminal, out);
        }
        fputc('\n', out);
    }
}

/* ---- findings ---- */

static void put_findings(const struct table *t, int rows, const struct terminal *terminal,
                         FILE *out)
{
    struct arena scratch = {0};

    for (int row = 0; row < t->rows && row < rows; row++) {
        const struct table_cell *what = table_at(t, row, TABLE_WHAT),
                                *look = table_at(t, row, TABLE_LOOK_AT);

        fputs("- ", out);
        terminal_put_wrapped(out,
                             look->present
                                 ? arena_printf(&scratch, "%s; ask '%s'", what->text, look->text)
                                 : what->text,
                             TERMINAL_GAP, terminal);
        fputc('\n', out);
    }
    arena_free(&scratch);
}

/* ---- timelines ---- */

/* The column that is drawn large: the first of bytes that has any, else the first after the time.
 */
static int main_column(const struct table *t)
{
    struct table_cell least, most;

    for (int i = TABLE_TIME + 1; i < t->width; i++)
        if (t->columns[i].unit == UNIT_BYTES && chart_range(t, i, &least, &most))
            return i;
    return TABLE_TIME + 1;
}

/* Name, curve and range on one line; a narrow terminal gets the largest value alone. */
static void put_line(const struct table *t, int column, int name_width,
                     const struct terminal *terminal, FILE *out)
{
    char low[SHOW_ROOM], high[SHOW_ROOM];
    struct table_cell least = {0}, most = {0};
    const char *name = t->columns[column].name, *from, *to;
    bool narrow = terminal->width < 60;
    int width = terminal->width - name_width - 2 * TERMINAL_GAP -
                (narrow ? 10 : 24); /* "1023.9 MiB .. 1023.9 MiB" */

    if (!chart_range(t, column, &least, &most))
        return;
    terminal_put_name(out, name, strlen(name));
    terminal_put_padding(out, name_width - (int)strlen(name) + TERMINAL_GAP);
    if (t->rows > 1) {
        chart_line(t, column, width < 6 ? 6 : width > 60 ? 60 : width, terminal, out);
        terminal_put_padding(out, TERMINAL_GAP);
    }
    from = show_cell(low, &least);
    to = show_cell(high, &most);
    fprintf(out, "%s%s%s\n", narrow || strcmp(from, to) == 0 ? "" : from,
            narrow || strcmp(from, to) == 0 ? "" : " .. ", to);
}

static void put_timeline(const struct table *t, const struct terminal *terminal, FILE *out)
{
    int large = main_column(t), name_width = 0;

    if (t->rows == 0)
        return;
    chart_draw(t, large, terminal, out);
    for (int i = TABLE_TIME + 1; i < t->width; i++) {
        int n = (int)strlen(t->columns[i].name);

        name_width = i != large && n > name_width ? n : name_width;
    }
    for (int i = TABLE_TIME + 1; i < t->width; i++)
        if (i != large)
            put_line(t, i, name_width, terminal, out);
}

/* Why functions have no name: some modules of many. */
static void put_unnamed(const struct answer *a, const struct terminal *terminal, FILE *out)
{
    for (int i = 0; i < a->unnamed_count && i < UNNAMED_SHOWN; i++) {
        terminal_put_wrapped(out, a->unnamed[i], 0, terminal);
        fputc('\n', out);
    }
    if (a->unnamed_count > UNNAMED_SHOWN)
        fprintf(out, "The same goes for %d more; -f json has them all.\n",
                a->unnamed_count - UNNAMED_SHOWN);
}

static void put_table(const struct answer *a, const struct table *t, int findings,
                      const struct terminal *terminal, FILE *out)
{
    if (t->shape != TABLE_FACTS && t->shape != TABLE_SOURCE && t->shape != TABLE_FINDINGS)
        put_title(t->name, terminal, out);
    if (t->shape == TABLE_FACTS)
        put_facts(t, terminal, out);
    else if (t->shape == TABLE_TIMELINE)
        put_timeline(t, terminal, out);
    else if (t->shape == TABLE_FINDINGS)
        put_findings(t, findings, terminal, out);
    else if (t->shape == TABLE_SOURCE)
        annotate_put(a, t, terminal, out);
    else
        rows_put(t, a->native, terminal, out);
    if (t->note) {
        terminal_put_wrapped(out, t->note, 0, terminal);
        fputc('\n', out);
    }
}

static bool is_empty(const struct table *t)
{
    return t->rows == 0 && !t->note;
}

/* Up to the table of this name; NULL: all. False: there is none. */
static bool put_tables(const struct answer *a, const char *last, int findings,
                       const struct terminal *terminal, FILE *out)
{
    bool first = true;

    for (int i = 0; i < a->count; i++) {
        if (is_empty(a->tables[i]))
            continue;
        if (!first)
            fputc('\n', out);
        first = false;
        put_table(a, a->tables[i], findings, terminal, out);
        if (last && strcmp(a->tables[i]->name, last) == 0)
            return true;
    }
    return !first;
}

static void put_head(const struct answer *a, const struct terminal *terminal, FILE *out)
{
    if (a->health) {
        terminal_put_wrapped(out, a->health, 0, terminal);
        fputs("\n\n", out);
    }
    if (a->asked) {
        terminal_put(out, a->asked);
        fputs("\n\n", out);
    }
}

/* ---- the first screen ---- */

static int screen_lines(const struct answer *a, int findings, const struct terminal *terminal)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *screen = open_memstream(&text, &bytes);
    int lines = 0;

    if (!screen)
        return 0;
    put_head(a, terminal, screen);
    put_tables(a, SCREEN_END, findings, terminal, screen);
    fclose(screen);
    for (size_t i = 0; text && i < bytes; i++)
        lines += text[i] == '\n';
    free(text);
    return lines;
}

/* How many findings leave room for what comes after them; 'findings' has them all. */
static int findings_shown(const struct answer *a, const struct terminal *terminal)
{
    int shown = 0;

    for (int i = 0; i < a->count; i++)
        if (a->tables[i]->shape == TABLE_FINDINGS)
            shown = a->tables[i]->rows;
    while (shown > 1 && screen_lines(a, shown, terminal) > SCREEN_LINES)
        shown--;
    return shown;
}

static void write_text(const struct answer *a, FILE *out)
{
    struct terminal terminal = terminal_of(out);
    bool any;

    put_head(a, &terminal, out);
    any = put_tables(a, NULL, findings_shown(a, &terminal), &terminal, out);
    if (a->unnamed_count) {
        fputs(any ? "\n" : "", out);
        put_unnamed(a, &terminal, out);
    }
    if (a->left_out) {
        fputs(any ? "\n" : "", out);
        terminal_put_wrapped(out, a->left_out, 0, &terminal);
        fputc('\n', out);
    }
    if (a->coverage) {
        fputs(any ? "\n" : "", out);
        terminal_put_wrapped(out, a->coverage->line, 0, &terminal);
        fputc('\n', out);
    }
}

const struct format format_text = {
    .name = "text",
    .summary = "for reading in a terminal, with charts",
    .write = write_text,
};
