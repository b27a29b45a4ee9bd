/* format_text - for reading in a terminal: aligned facts and tables, trees with branches, timelines
 * as charts, source with numbers beside it. Columns that are absent in every row are not shown, nor
 * those of detail that do not fit.
 */
#include "base/text.h"
#include "report/annotate.h"
#include "report/chart.h"
#include "report/formats.h"
#include "report/show.h"
#include "report/terminal.h"

#include <stdlib.h>
#include <string.h>

#define GAP 2
#define DEPTH_MOST 24 /* deeper rows are drawn at this depth */
#define FRAMES_SHOWN 4
#define SERIES_WIDTH 40
#define LEAST "_at_least"
#define MOST "_at_most"

static void put_padding(int n, FILE *out)
{
    fprintf(out, "%*s", n > 0 ? n : 0, "");
}

/* A name with spaces for its underscores, up to `len` bytes of it. */
static void put_name(const char *name, size_t len, FILE *out)
{
    for (size_t i = 0; i < len; i++)
        fputc(name[i] == '_' ? ' ' : name[i], out);
}

static void put_title(const char *name, const struct terminal *terminal, FILE *out)
{
    fputs(terminal->colour ? "\033[1m" : "", out);
    put_name(name, strlen(name), out);
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
    const char *least = t->cells[i * 2].text, *most;

    if (i + 1 >= t->rows || !ends_with(least, LEAST))
        return false;
    most = t->cells[i * 2 + 2].text;
    return ends_with(most, MOST) &&
           strncmp(least, most, strlen(least) - strlen(LEAST) + strlen("_at_")) == 0;
}

static void put_bounds(const struct table_cell *least, const struct table_cell *most, FILE *out)
{
    char low[SHOW_ROOM], high[SHOW_ROOM];

    if (!least->present)
        fputs(show_cell(low, least), out);
    else if (!most->present)
        fprintf(out, "at least %s", show_cell(low, least));
    else if (least->number == most->number)
        fprintf(out, "%s (exact)", show_cell(low, least));
    else
        fprintf(out, "between %s and %s", show_cell(low, least), show_cell(high, most));
}

static size_t name_length(const struct table *t, int i)
{
    size_t n = strlen(t->cells[i * 2].text);

    return is_bounded(t, i) ? n - strlen(LEAST) : n;
}

static void put_fact(const struct table_cell *c, const struct terminal *terminal, FILE *out)
{
    char text[SHOW_ROOM];

    if (c->unit == UNIT_SERIES && c->present)
        chart_series(c->series, SERIES_WIDTH, terminal, out);
    else
        terminal_put(out, show_cell(text, c));
}

static void put_facts(const struct table *t, const struct terminal *terminal, FILE *out)
{
    size_t widest = 0;

    for (int i = 0; i < t->rows; i++)
        widest = name_length(t, i) > widest ? name_length(t, i) : widest;
    for (int i = 0; i < t->rows; i++) {
        const struct table_cell *c = &t->cells[i * 2];
        size_t n = name_length(t, i);

        put_name(c[0].text, n, out);
        put_padding((int)(widest - n) + GAP, out);
        if (is_bounded(t, i)) {
            put_bounds(&c[1], &c[3], out);
            i++;
        } else {
            put_fact(&c[1], terminal, out);
        }
        fputc('\n', out);
    }
}

/* ---- rows ---- */

struct layout {
    const struct table *table;
    const struct terminal *terminal;
    int *widths;      /* of each column; 0: not shown */
    uint32_t *open;   /* of each row: bit d, a later row continues the branch of depth d */
    int depth_column; /* -1: no tree */
};

static const struct table_cell *cell_at(const struct table *t, int row, int column)
{
    return &t->cells[(size_t)row * (size_t)t->width + (size_t)column];
}

static int depth_of(const struct layout *l, int row)
{
    const struct table_cell *c = cell_at(l->table, row, l->depth_column);

    return !c->present ? 0 : c->number < DEPTH_MOST ? (int)c->number : DEPTH_MOST;
}

/* From the last row up: which branches still go on below each row. */
static void find_branches(struct layout *l)
{
    uint32_t open = 0;

    for (int row = l->table->rows - 1; row >= 0; row--) {
        int depth = depth_of(l, row);

        l->open[row] = open;
        open = (open & ((1u << depth) - 1)) | 1u << depth;
    }
}

static bool is_indented(const struct layout *l, int column)
{
    return l->depth_column >= 0 && column == l->depth_column + 1;
}

static int cell_width(const struct layout *l, int row, int column)
{
    char text[SHOW_ROOM];
    int width = (int)text_width(show_cell(text, cell_at(l->table, row, column)));

    return is_indented(l, column) ? width + 3 * depth_of(l, row) : width;
}

static void measure(struct layout *l)
{
    const struct table *t = l->table;

    for (int column = 0; column < t->width; column++) {
        int widest = (int)strlen(t->columns[column].name);
        bool any = t->rows == 0;

        for (int row = 0; row < t->rows; row++) {
            int width = cell_width(l, row, column);

            widest = width > widest ? width : widest;
            any = any || cell_at(t, row, column)->present;
        }
        if (column == l->depth_column || t->columns[column].unit == UNIT_STACK)
            any = false;
        l->widths[column] = any ? widest : 0;
    }
}

static int whole_width(const struct layout *l)
{
    int sum = -GAP;

    for (int i = 0; i < l->table->width; i++)
        sum += l->widths[i] ? l->widths[i] + GAP : 0;
    return sum;
}

/* Columns of detail go, the last first, until the others fit. */
static void fit(struct layout *l)
{
    for (int i = l->table->width - 1; i >= 0 && whole_width(l) > l->terminal->width; i--)
        if (l->table->detail >> i & 1)
            l->widths[i] = 0;
}

static void put_branch(const struct layout *l, int row, FILE *out)
{
    bool utf8 = l->terminal->utf8;
    int depth = depth_of(l, row);

    for (int d = 1; d < depth; d++)
        fputs(!(l->open[row] >> d & 1) ? "   " : utf8 ? "│  " : "|  ", out);
    if (depth > 0 && l->open[row] >> depth & 1)
        fputs(utf8 ? "├─ " : "|- ", out);
    else if (depth > 0)
        fputs(utf8 ? "└─ " : "`- ", out);
}

static int last_shown(const struct layout *l)
{
    int last = l->table->width - 1;

    while (last > 0 && !l->widths[last])
        last--;
    return last;
}

static void put_cell(const struct layout *l, int row, int column, FILE *out)
{
    char text[SHOW_ROOM];
    int padding = l->widths[column] - cell_width(l, row, column);
    bool left = show_is_text(l->table->columns[column].unit);

    if (!left)
        put_padding(padding, out);
    if (is_indented(l, column))
        put_branch(l, row, out);
    terminal_put(out, show_cell(text, cell_at(l->table, row, column)));
    if (left && column != last_shown(l))
        put_padding(padding, out);
}

static void put_heading(const struct layout *l, FILE *out)
{
    bool first = true;

    for (int column = 0; column < l->table->width; column++) {
        const char *name = l->table->columns[column].name;
        int padding = l->widths[column] - (int)strlen(name);
        bool left = show_is_text(l->table->columns[column].unit);

        if (!l->widths[column])
            continue;
        put_padding((first ? 0 : GAP) + (left ? 0 : padding), out);
        put_name(name, strlen(name), out);
        if (left && column != last_shown(l))
            put_padding(padding, out);
        first = false;
    }
    fputc('\n', out);
}

/* Before a line that belongs to a row; in a tree, the branches that go on below it. */
static void put_indent(const struct layout *l, int row, FILE *out)
{
    bool utf8 = l->terminal->utf8, tree = l->depth_column == 0;

    for (int d = 1; tree && d <= depth_of(l, row); d++)
        fputs(!(l->open[row] >> d & 1) ? "   " : utf8 ? "│  " : "|  ", out);
    put_padding(2 * GAP, out);
}

/* The first frames below the row. */
static void put_stack(const struct layout *l, int row, const struct table_stack *stack, FILE *out)
{
    struct arena scratch = {0};

    for (int i = 0; i < stack->count && i < FRAMES_SHOWN; i++) {
        put_indent(l, row, out);
        terminal_put(out, table_frame_text(&scratch, &stack->frames[i]));
        fputc('\n', out);
    }
    if (stack->count > FRAMES_SHOWN) {
        put_indent(l, row, out);
        fprintf(out, "%s %d more\n", l->terminal->utf8 ? "…" : "...", stack->count - FRAMES_SHOWN);
    }
    arena_free(&scratch);
}

static void put_stacks(const struct layout *l, int row, FILE *out)
{
    for (int column = 0; column < l->table->width; column++) {
        const struct table_cell *c = cell_at(l->table, row, column);

        if (c->unit == UNIT_STACK && c->present)
            put_stack(l, row, c->stack, out);
    }
}

static void put_rows(const struct table *t, const struct terminal *terminal, FILE *out)
{
    struct arena scratch = {0};
    struct layout l = {.table = t, .terminal = terminal, .depth_column = -1};

    for (int i = 0; i + 1 < t->width; i++)
        if (t->columns[i].unit == UNIT_DEPTH)
            l.depth_column = i;
    l.widths = arena_alloc(&scratch, (size_t)t->width * sizeof(*l.widths));
    l.open = arena_alloc(&scratch, ((size_t)t->rows + 1) * sizeof(*l.open));
    if (l.depth_column >= 0)
        find_branches(&l);
    measure(&l);
    fit(&l);
    if (t->rows)
        put_heading(&l, out);
    for (int row = 0; row < t->rows; row++) {
        bool first = true;

        for (int column = 0; column < t->width; column++) {
            if (!l.widths[column])
                continue;
            put_padding(first ? 0 : GAP, out);
            put_cell(&l, row, column, out);
            first = false;
        }
        fputc('\n', out);
        put_stacks(&l, row, out);
    }
    arena_free(&scratch);
}

/* ---- timelines ---- */

/* The column that is drawn large: the first of bytes that has any, else the first after the time.
 */
static int main_column(const struct table *t)
{
    struct table_cell least, most;

    for (int i = 1; i < t->width; i++)
        if (t->columns[i].unit == UNIT_BYTES && chart_range(t, i, &least, &most))
            return i;
    return 1;
}

/* Name, curve and range on one line; a narrow terminal gets the largest value alone. */
static void put_line(const struct table *t, int column, int name_width,
                     const struct terminal *terminal, FILE *out)
{
    char low[SHOW_ROOM], high[SHOW_ROOM];
    struct table_cell least = {0}, most = {0};
    const char *name = t->columns[column].name, *from, *to;
    bool narrow = terminal->width < 60;
    int width = terminal->width - name_width - 2 * GAP - (narrow ? 10 : 22);

    if (!chart_range(t, column, &least, &most))
        return;
    put_name(name, strlen(name), out);
    put_padding(name_width - (int)strlen(name) + GAP, out);
    if (t->rows > 1) {
        chart_line(t, column, width < 6 ? 6 : width > 60 ? 60 : width, terminal, out);
        put_padding(GAP, out);
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
    for (int i = 1; i < t->width; i++) {
        int n = (int)strlen(t->columns[i].name);

        name_width = i != large && n > name_width ? n : name_width;
    }
    for (int i = 1; i < t->width; i++)
        if (i != large)
            put_line(t, i, name_width, terminal, out);
}

static void write_text(const struct answer *a, FILE *out)
{
    struct terminal terminal = terminal_of(out);
    bool first = true;

    if (a->health) {
        terminal_put(out, a->health);
        fputs("\n\n", out);
    }
    for (int i = 0; i < a->count; i++) {
        const struct table *t = a->tables[i];

        if (t->rows == 0 && !t->note)
            continue;
        if (!first)
            fputc('\n', out);
        first = false;
        if (t->shape != TABLE_FACTS && t->shape != TABLE_SOURCE)
            put_title(t->name, &terminal, out);
        if (t->shape == TABLE_FACTS)
            put_facts(t, &terminal, out);
        else if (t->shape == TABLE_TIMELINE)
            put_timeline(t, &terminal, out);
        else if (t->shape == TABLE_SOURCE)
            annotate_put(a, t, &terminal, out);
        else
            put_rows(t, &terminal, out);
        if (t->note)
            fprintf(out, "%s\n", t->note);
    }
    if (a->coverage) {
        fputs(first ? "" : "\n", out);
        terminal_put(out, a->coverage->line);
        fputc('\n', out);
    }
}

const struct format format_text = {
    .name = "text",
    .summary = "for reading in a terminal, with charts",
    .write = write_text,
};
