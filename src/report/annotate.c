/* annotate - see annotate.h. Nothing is written beside a line where there is nothing to say; lines
 * that say nothing are left out but for those next to one that does. Columns without any number go,
 * and on a narrow terminal those that matter least.
 */
#include "report/annotate.h"

#include "base/count.h"
#include "base/text.h"
#include "report/chart.h"
#include "report/named.h"
#include "report/show.h"

#include <inttypes.h>
#include <string.h>

#define TEXT_LEAST 36 /* columns of source that should be seen */
#define SPARK_WIDTH 8
#define AROUND 1 /* silent lines shown beside one that is not */
#define HOT 0.10 /* of anything: marked */
#define WARM 0.02

enum form { PERCENT, TIME, SIZE, SPARK };

struct field {
    const char *column, *title;
    enum form form;
    int width;
    int rank; /* the largest goes first where room is lacking; 0: never */
    int at;   /* its column in the table; -1: it is not shown */
    double sum;
};

static const struct field all_fields[] = {
    {.column = "python", .title = "python%", .form = PERCENT, .width = 7, .rank = 0},
    {.column = "native", .title = "native%", .form = PERCENT, .width = 7, .rank = 0},
    {.column = "system", .title = "system%", .form = PERCENT, .width = 7, .rank = 3},
    {.column = "waiting", .title = "waits", .form = TIME, .width = 6, .rank = 1},
    {.column = "allocated", .title = "alloc", .form = SIZE, .width = 6, .rank = 0},
    {.column = "at_peak", .title = "peak", .form = SIZE, .width = 6, .rank = 0},
    {.column = "alive", .title = "alive", .form = SIZE, .width = 6, .rank = 5},
    {.column = "memory", .title = "memory", .form = SPARK, .width = SPARK_WIDTH, .rank = 2},
    {.column = "copied", .title = "copied", .form = SIZE, .width = 6, .rank = 4},
    {.column = "device_time", .title = "device", .form = TIME, .width = 6, .rank = 0},
    {.column = "device_most", .title = "dmem", .form = SIZE, .width = 6, .rank = 0},
};
#define FIELDS COUNT(all_fields)

struct page {
    const struct answer *answer;
    const struct table *table;
    const struct terminal *terminal;
    FILE *out;
    struct field fields[FIELDS];
    double cpu; /* all of it, in ns */
    int cpu_at, line_at, text_at, function_at;
    int number_width; /* of line numbers */
    int text_width;
};

static const struct table_cell *cell_at(const struct page *p, int row, int column)
{
    return table_at(p->table, row, column);
}

static double value_at(const struct page *p, int row, int column)
{
    const struct table_cell *c = column < 0 ? NULL : cell_at(p, row, column);

    return c && c->present ? named_value(c) : 0;
}

/* ---- the columns ---- */

static bool holds_anything(const struct table_series *s)
{
    for (int i = 0; i < s->count; i++)
        if (s->bytes[i])
            return true;
    return false;
}

static bool says_anything(const struct page *p, const struct field *f)
{
    for (int row = 0; f->at >= 0 && row < p->table->rows; row++) {
        const struct table_cell *c = cell_at(p, row, f->at);

        if (c->present && (f->form == SPARK ? holds_anything(c->series) : c->number != 0))
            return true;
    }
    return false;
}

static int room_left(const struct page *p)
{
    int room = p->terminal->width - p->number_width - 2;

    for (int i = 0; i < FIELDS; i++)
        room -= p->fields[i].at >= 0 ? p->fields[i].width + 1 : 0;
    return room;
}

static void drop_one(struct page *p)
{
    int worst = -1;

    for (int i = 0; i < FIELDS; i++)
        if (p->fields[i].at >= 0 && p->fields[i].rank &&
            (worst < 0 || p->fields[i].rank > p->fields[worst].rank))
            worst = i;
    if (worst >= 0)
        p->fields[worst].at = -1;
}

static void lay_out(struct page *p)
{
    const struct table *t = p->table;
    uint64_t last = 0;

    p->cpu_at = named_column(t, "cpu");
    p->line_at = named_column(t, "line");
    p->text_at = named_column(t, "text");
    p->function_at = named_column(t, "function");
    memcpy(p->fields, all_fields, sizeof(all_fields));
    for (int i = 0; i < FIELDS; i++) {
        struct field *f = &p->fields[i];

        f->at = named_column(t, f->column);
        if (!says_anything(p, f))
            f->at = -1;
        for (int row = 0; f->form != SPARK && row < t->rows; row++)
            f->sum += value_at(p, row, f->at);
    }
    for (int row = 0; row < t->rows; row++) {
        p->cpu += value_at(p, row, p->cpu_at);
        if (cell_at(p, row, p->line_at)->present && cell_at(p, row, p->line_at)->number > last)
            last = cell_at(p, row, p->line_at)->number;
    }
    p->number_width = snprintf(NULL, 0, "%" PRIu64, last + AROUND);
    for (int i = 0; i < FIELDS && room_left(p) < TEXT_LEAST; i++)
        drop_one(p);
    p->text_width = room_left(p);
}

/* ---- numbers in little room ---- */

static const char *short_text(char out[SHOW_ROOM], const struct page *p, const struct field *f,
                              double value)
{
    if (!(value > 0))
        return "";
    if (f->form == SIZE)
        return show_short_size(out, value);
    if (f->form == TIME)
        return show_short_time(out, value);
    snprintf(out, SHOW_ROOM, "%.1f", p->cpu > 0 ? value / p->cpu * 100 : 0);
    return out;
}

static void put_field(const struct page *p, const struct field *f, int row)
{
    char text[SHOW_ROOM];

    if (f->at < 0)
        return;
    if (f->form != SPARK) {
        fprintf(p->out, "%*s ", f->width,
                row < 0 ? "" : short_text(text, p, f, value_at(p, row, f->at)));
        return;
    }
    if (row >= 0 && cell_at(p, row, f->at)->present &&
        holds_anything(cell_at(p, row, f->at)->series))
        chart_series(cell_at(p, row, f->at)->series, f->width, p->terminal, p->out);
    else
        fprintf(p->out, "%*s", f->width, "");
    fputc(' ', p->out);
}

/* ---- lines ---- */

/* Its largest share of anything. */
static double heat_of(const struct page *p, int row)
{
    double most = p->cpu > 0 ? value_at(p, row, p->cpu_at) / p->cpu : 0;

    for (int i = 0; i < FIELDS; i++) {
        const struct field *f = &p->fields[i];
        double part = f->form == SPARK || f->form == PERCENT || !(f->sum > 0)
                        ? 0
                        : value_at(p, row, f->at) / f->sum;

        most = part > most ? part : most;
    }
    return most;
}

/* As much of the text as fits; tabs as four columns. */
static void put_text(const struct page *p, const char *text)
{
    char line[4096];
    size_t used = 0;
    int columns = 0;

    for (; *text && used < sizeof(line) - 8; text++) {
        if (*text == '\t') {
            int n = 4 - columns % 4;

            memcpy(line + used, "    ", (size_t)n);
            used += (size_t)n;
            columns += n;
        } else {
            columns += ((unsigned char)*text & 0xc0) != 0x80;
            if (columns > p->text_width && p->text_width > 0)
                break;
            line[used++] = *text;
        }
    }
    line[used] = '\0';
    terminal_put(p->out, line);
}

/* One line; row -1: it has nothing to say. */
static void put_line(const struct page *p, int row, uint64_t number, const char *text)
{
    double heat = row < 0 ? 0 : heat_of(p, row);
    bool colour = p->terminal->colour;

    if (colour)
        fputs(heat >= HOT    ? "\033[1;31m"
              : heat >= WARM ? "\033[33m"
              : row < 0      ? "\033[2m"
                             : "",
              p->out);
    for (int i = 0; i < FIELDS; i++)
        put_field(p, &p->fields[i], row);
    if (number)
        fprintf(p->out, "%*" PRIu64 "%s ", p->number_width, number,
                heat >= HOT ? (p->terminal->utf8 ? "▸" : ">") : " ");
    else
        fprintf(p->out, "%*s  ", p->number_width, "");
    if (number)
        put_text(p, text);
    else
        terminal_put_within(p->out, text, p->text_width, p->terminal);
    fputs(colour && (heat >= WARM || row < 0) ? "\033[0m\n" : "\n", p->out);
}

static void put_row(const struct page *p, int row)
{
    struct arena scratch = {0};
    const struct table_cell *text = cell_at(p, row, p->text_at);
    const struct table_cell *function = cell_at(p, row, p->function_at);
    const char *instead = function->present ? function->text : "";

    put_line(p, row, cell_at(p, row, p->line_at)->number,
             text->present ? text->text : arena_printf(&scratch, "(in %s)", instead));
    arena_free(&scratch);
}

/* The silent lines from `from` to before `to`: those beside their neighbours, or all of a few. */
static void put_silent(const struct page *p, const struct table_source *source, uint64_t from,
                       uint64_t to, bool first, bool last)
{
    uint64_t before = first ? 0 : AROUND, after = last ? 0 : AROUND;
    bool gap = false, few;

    if (first && from + AROUND < to)
        from = to - AROUND;
    few = to - from <= before + after + 1;
    for (uint64_t line = from; line < to; line++) {
        const char *text = table_source_line(source, line);

        if (text && (few || line < from + before || line + after >= to)) {
            put_line(p, -1, line, text);
        } else if (source && !gap && !last) {
            put_line(p, -1, 0, p->terminal->utf8 ? "⋯" : "...");
            gap = true;
        }
        if (!few && line >= from + before && line + AROUND < to)
            line = to - AROUND - 1; /* there may be more lines than anybody can count */
    }
}

/* ---- files ---- */

static void put_totals(const struct page *p, int from, int to)
{
    static const struct {
        const char *column, *text;
        bool bytes;
    } parts[] = {{"waiting", "waiting", false},
                 {"allocated", "allocated", true},
                 {"at_peak", "at the peak", true},
                 {"alive", "alive at the end", true},
                 {"copied", "copied", true}};
    struct arena scratch = {0};
    const char *line = "";
    double cpu = 0;
    char text[TEXT_SIZE];

    for (int row = from; row < to; row++)
        cpu += value_at(p, row, p->cpu_at);
    if (p->cpu > 0)
        line = arena_printf(&scratch, "CPU %s (%.1f %%)", text_duration(text, text_rounded(cpu)),
                            cpu / p->cpu * 100);
    for (int i = 0; i < COUNT(parts); i++) {
        int column = named_column(p->table, parts[i].column);
        double sum = 0;

        for (int row = from; row < to; row++)
            sum += value_at(p, row, column);
        if (!(sum > 0))
            continue;
        line = arena_printf(&scratch, "%s%s%s %s", line, *line ? ", " : "", parts[i].text,
                            parts[i].bytes ? text_size(text, text_rounded(sum))
                                           : text_duration(text, text_rounded(sum)));
    }
    terminal_put_wrapped(p->out, line, 0, p->terminal);
    arena_free(&scratch);
}

static void put_heading(const struct page *p)
{
    fputs(p->terminal->colour ? "\033[2m" : "", p->out);
    for (int i = 0; i < FIELDS; i++)
        if (p->fields[i].at >= 0)
            fprintf(p->out, "%*s ", p->fields[i].width, p->fields[i].title);
    fputs(p->terminal->colour ? "\033[0m\n" : "\n", p->out);
}

/* Rows from..to are of one file. */
static void put_file(const struct page *p, int from, int to)
{
    const char *file = cell_at(p, from, 0)->text;
    const struct table_source *source = answer_source(p->answer, file);
    uint64_t next = 1;

    fputs(p->terminal->colour ? "\033[1m" : "", p->out);
    terminal_put_within(p->out, file, p->terminal->width, p->terminal);
    fputs(p->terminal->colour ? "\033[0m\n" : "\n", p->out);
    put_totals(p, from, to);
    fputs(source && source->changed ? "\nThis file was changed after the recording began.\n" : "\n",
          p->out);
    put_heading(p);
    for (int row = from; row < to; row++) {
        uint64_t line = cell_at(p, row, p->line_at)->number;

        put_silent(p, source, next, line, row == from, false);
        put_row(p, row);
        next = line + 1;
    }
    if (source)
        put_silent(p, source, next, next + AROUND, false, true);
}

/* What is no line of a file. */
static void put_others(const struct page *p, int from)
{
    if (from == p->table->rows)
        return;
    fputs(p->terminal->colour ? "\033[1melsewhere\033[0m\n" : "elsewhere\n", p->out);
    put_heading(p);
    for (int row = from; row < p->table->rows; row++)
        put_line(p, row, 0, cell_at(p, row, 0)->text);
}

void annotate_put(const struct answer *a, const struct table *t, const struct terminal *terminal,
                  FILE *out)
{
    struct page p = {.answer = a, .table = t, .terminal = terminal, .out = out};
    int row = 0, to;

    if (t->rows == 0)
        return;
    lay_out(&p);
    for (; row < t->rows && cell_at(&p, row, p.line_at)->present; row = to) {
        for (to = row; to < t->rows && cell_at(&p, to, p.line_at)->present &&
                       strcmp(cell_at(&p, to, 0)->text, cell_at(&p, row, 0)->text) == 0;)
            to++;
        put_file(&p, row, to);
        fputs(to < t->rows ? "\n" : "", out);
    }
    put_others(&p, row);
}
