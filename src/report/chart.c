/* chart - see chart.h. */
#include "report/chart.h"

#include "base/clock.h"
#include "base/count.h"
#include "report/show.h"

#include <math.h> /* NAN and isnan alone: no library behind them */
#include <string.h>

#define HEIGHT 12       /* rows; can be shared evenly by 2, 3 and 4 marks */
#define MARK_SPACE 10   /* columns between two marks of the time axis, at least */
#define WIDTH_MOST 1000 /* as terminal.c */

struct glyphs {
    const char *part[9]; /* from empty to full */
    const char *corner, *side, *mark, *floor, *tick;
};

static const struct glyphs blocks = {
    {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}, "└", "│", "┤", "─", "┬",
};
static const struct glyphs ascii = {
    {" ", ".", ".", ".", ":", ":", ":", "#", "#"}, "+", "|", "+", "-", "+",
};

static double value_of(const struct table_cell *c)
{
    bool real = c->unit == UNIT_PERCENT || c->unit == UNIT_REAL;

    return !c->present ? NAN : real ? c->real : (double)c->number;
}

bool chart_range(const struct table *t, int column, struct table_cell *least,
                 struct table_cell *most)
{
    bool any = false;

    for (int row = 0; row < t->rows; row++) {
        const struct table_cell *c = table_at(t, row, column);

        if (!c->present)
            continue;
        if (!any || value_of(c) < value_of(least))
            *least = *c;
        if (!any || value_of(c) > value_of(most))
            *most = *c;
        any = true;
    }
    return any;
}

/* Where the time axis begins: at 0, unless the timeline begins late. */
static double begin_of(const struct table *t)
{
    double first = value_of(table_at(t, 0, TABLE_TIME)),
           last = value_of(table_at(t, t->rows - 1, TABLE_TIME));

    return first * 2 <= last ? 0 : first;
}

/* `width` values, each the largest of its stretch of time. A stretch without a sample shows the
 * last one before it; before the first there is nothing (NAN).
 */
static void resample(const struct table *t, int column, double *out, int width)
{
    double first = begin_of(t), span = value_of(table_at(t, t->rows - 1, TABLE_TIME)) - first;

    for (int i = 0; i < width; i++)
        out[i] = NAN;
    for (int row = 0; row < t->rows; row++) {
        double at = value_of(table_at(t, row, TABLE_TIME)) - first,
               value = value_of(table_at(t, row, column));
        int i = !(span > 0 && at > 0) ? 0 : at < span ? (int)(at / span * width) : width - 1;

        if (!isnan(value) && !(out[i] > value))
            out[i] = value;
    }
    for (int i = 1; i < width; i++)
        if (isnan(out[i]))
            out[i] = out[i - 1];
}

/* How many eighths of a row of height `row_top - row_floor` a value fills; a value that is not 0
 * is always seen in the lowest row.
 */
static int fill_of(double value, double floor_value, double height)
{
    double part = (value - floor_value) / height;

    if (isnan(value) || value <= 0 || part <= 0)
        return 0;
    if (part >= 1)
        return 8;
    part = part * 8 + 1e-6; /* a full row must not fail by a rounding */
    return part < 1 ? (floor_value <= 0 ? 1 : 0) : (int)part;
}

/* The least of 1, 2, 5, 10, 20 ... (times any power of ten) that is not below x. */
static double round_up(double x)
{
    static const double steps[] = {1, 2, 5};
    double power = 1;

    while (power * 10 <= x)
        power *= 10;
    while (power > x)
        power /= 10;
    for (int i = 0; i < 3; i++)
        if (steps[i] * power >= x * (1 - 1e-9))
            return steps[i] * power;
    return 10 * power;
}

static double ceiling(double x)
{
    return ceil(x - 1e-9);
}

struct scale {
    double top, step; /* in the values' own unit */
    double unit;
    const char *name;
    int marks;
};

static struct scale scale_of(double most, enum table_unit unit)
{
    static const char *const sizes[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    struct scale s = {.unit = 1, .name = unit == UNIT_PERCENT ? "%" : ""};
    double marks;

    if (unit == UNIT_BYTES) {
        int i = 0;

        for (; i < 4 && most / s.unit >= 1024; i++)
            s.unit *= 1024;
        s.name = sizes[i];
    } else if (unit == UNIT_NS) {
        s.unit = CLOCK_SECOND_NS;
        s.name = "s";
    }
    s.step = most > 0 ? round_up(most / s.unit / 4) * s.unit : s.unit;
    marks = ceiling(most / s.step);
    s.marks = marks > 4 ? 4 : marks > 1 ? (int)marks : 1;
    s.top = s.step * s.marks;
    return s;
}

static int label(char out[SHOW_ROOM], const struct scale *s, int mark)
{
    if (mark == 0)
        return snprintf(out, SHOW_ROOM, "0");
    return snprintf(out, SHOW_ROOM, "%g%s%s", s->step * mark / s->unit, *s->name ? " " : "",
                    s->name);
}

static void draw_rows(const double *values, int width, const struct scale *s, int gutter,
                      const struct glyphs *g, const struct terminal *terminal, FILE *out)
{
    double height = s->top / HEIGHT;
    int each = HEIGHT / s->marks;

    for (int row = HEIGHT - 1; row >= 0; row--) {
        char text[SHOW_ROOM] = "";
        bool marked = (row + 1) % each == 0; /* a mark is the upper edge of its row */
        int end = width;

        if (marked)
            label(text, s, (row + 1) / each);
        while (end > 0 && !fill_of(values[end - 1], row * height, height))
            end--;
        fprintf(out, "%*s %s%s", gutter, text, marked ? g->mark : g->side,
                terminal->colour ? "\033[36m" : "");
        for (int i = 0; i < end; i++)
            fputs(g->part[fill_of(values[i], row * height, height)], out);
        fprintf(out, "%s\n", terminal->colour ? "\033[0m" : "");
    }
}

/* The step of the time axis: the least round one whose marks stand far enough apart. */
static double time_step(double span_s, int width)
{
    static const double steps[] = {1,     2,     5,     10,    15,     30,    60,
                                   120,   300,   600,   900,   1800,   3600,  7200,
                                   10800, 21600, 43200, 86400, 172800, 604800};
    double least = span_s * MARK_SPACE / width;

    if (least <= 1)
        return round_up(least);
    for (int i = 0; i < COUNT(steps); i++)
        if (steps[i] >= least)
            return steps[i];
    return round_up(least / 604800) * 604800;
}

/* In the largest unit in which every mark is a short number. */
static void time_label(char out[SHOW_ROOM], double at_s, double step_s, double last_s)
{
    if (last_s < 1)
        snprintf(out, SHOW_ROOM, "%.6g ms", at_s * 1e3);
    else if (step_s < 60)
        snprintf(out, SHOW_ROOM, "%.6g s", at_s);
    else if (step_s < 3600)
        snprintf(out, SHOW_ROOM, "%.6g min", at_s / 60);
    else
        snprintf(out, SHOW_ROOM, "%.6g h", at_s / 3600);
}

/* The floor of the chart, and below it the times; both are built of one character per column. */
static void draw_floor(double first_s, double last_s, int width, int gutter, const struct glyphs *g,
                       FILE *out)
{
    char times[WIDTH_MOST + SHOW_ROOM], text[SHOW_ROOM];
    double span = last_s - first_s, step = time_step(span, width);
    int used = 0;

    memset(times, ' ', sizeof(times));
    fprintf(out, "%*s %s", gutter, "0", g->corner);
    for (int i = 0, next = 0; i < width; i++) {
        double mark = ceiling(first_s / step) + next;
        double column = (mark * step - first_s) / span * width;
        int at = column > -1 && column < width ? (int)column : width, n = 0;

        if (i == at) {
            next++;
            time_label(text, mark * step, step, last_s);
            n = (int)strlen(text);
        }
        if (n == 0 || i + n > width) {
            fputs(g->floor, out); /* no mark without room for its label */
            continue;
        }
        fputs(g->tick, out);
        memcpy(times + i, text, (size_t)n);
        used = i + n;
    }
    fprintf(out, "\n%*s  %.*s\n", gutter, "", used, times);
}

static void draw_peak(const struct table *t, int column, const struct table_cell *most, FILE *out)
{
    char value[SHOW_ROOM], when[SHOW_ROOM];

    for (int row = 0; row < t->rows; row++) {
        const struct table_cell *c = table_at(t, row, column);

        if (c->present && value_of(c) >= value_of(most)) {
            fprintf(out, "%s: largest %s at %s\n", t->columns[column].name, show_cell(value, c),
                    show_cell(when, table_at(t, row, TABLE_TIME)));
            return;
        }
    }
}

void chart_draw(const struct table *t, int column, const struct terminal *terminal, FILE *out)
{
    const struct glyphs *g = terminal->utf8 ? &blocks : &ascii;
    double values[WIDTH_MOST], first, last;
    struct table_cell least = {0}, most = {0};
    struct scale s;
    int gutter = 1, width;

    if (!chart_range(t, column, &least, &most))
        return;
    draw_peak(t, column, &most, out);
    first = begin_of(t) / CLOCK_SECOND_NS;
    last = value_of(table_at(t, t->rows - 1, TABLE_TIME)) / CLOCK_SECOND_NS;
    if (t->rows < 2 || !(last > first))
        return; /* one moment is no curve */
    s = scale_of(value_of(&most), t->columns[column].unit);
    for (int mark = 1; mark <= s.marks; mark++) {
        char text[SHOW_ROOM];
        int n = label(text, &s, mark);

        gutter = n > gutter ? n : gutter;
    }
    width = terminal->width - gutter - 2;
    width = width < 8 ? 8 : width > WIDTH_MOST ? WIDTH_MOST : width;
    resample(t, column, values, width);
    draw_rows(values, width, &s, gutter, g, terminal, out);
    draw_floor(first, last, width, gutter, g, out);
}

static const char *const *levels_of(const struct terminal *terminal)
{
    static const char *const levels[] = {" ", "_", "_", ".", "-", "-", "=", "+", "#"};

    return terminal->utf8 ? blocks.part : levels;
}

void chart_line(const struct table *t, int column, int width, const struct terminal *terminal,
                FILE *out)
{
    const char *const *part = levels_of(terminal);
    double values[WIDTH_MOST];
    struct table_cell least = {0}, most = {0};

    width = width > WIDTH_MOST ? WIDTH_MOST : width;
    if (width < 1 || !chart_range(t, column, &least, &most))
        return;
    resample(t, column, values, width);
    for (int i = 0; i < width; i++)
        fputs(part[fill_of(values[i], 0, value_of(&most))], out);
}

void chart_series(const struct table_series *s, int width, const struct terminal *terminal,
                  FILE *out)
{
    const char *const *part = levels_of(terminal);
    uint64_t top = 1;

    for (int i = 0; i < s->count; i++)
        top = s->bytes[i] > top ? s->bytes[i] : top;
    for (int i = 0; i < width && s->count; i++) {
        int from = (int)((long)i * s->count / width), to = (int)((long)(i + 1) * s->count / width);
        uint64_t most = s->bytes[from];

        for (int k = from + 1; k < to; k++)
            most = s->bytes[k] > most ? s->bytes[k] : most;
        fputs(part[fill_of((double)most, 0, (double)top)], out);
    }
}
