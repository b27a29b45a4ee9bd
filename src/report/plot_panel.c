/* plot_panel - see plot_panel.h. */
#include "report/plot_panel.h"

#include "base/text.h"
#include "base/utf8.h"
#include "report/named.h"

#include <math.h>
#include <string.h>

#define SMALL 13.0
#define LETTER 0.58    /* about how wide one is, as a part of its height */
#define STEPS_MOST 200 /* of a scale, whatever its numbers are */

double panel_most(const struct table *t, const char *column)
{
    double most = 0;

    for (int row = 0; row < t->rows; row++)
        most = fmax(most, named_number(t, row, column));
    return most;
}

/* Between a row and the one before; of the first, and where time or the counter goes back, 0. */
static double rate_at(const struct table *t, int row, const char *column)
{
    double ns = row ? named_number(t, row, "time") - named_number(t, row - 1, "time") : 0;
    double more = row ? named_number(t, row, column) - named_number(t, row - 1, column) : 0;

    return ns > 0 && more > 0 ? more / ns * 1e9 : 0;
}

double panel_most_rate(const struct table *t, const char *column)
{
    double most = 0;

    for (int row = 1; row < t->rows; row++)
        most = fmax(most, rate_at(t, row, column));
    return most;
}

double panel_x(const struct panel *p, double ns)
{
    double part = p->to_ns > p->from_ns ? (ns - p->from_ns) / (p->to_ns - p->from_ns) : 0;

    return p->left + fmin(fmax(part, 0), 1) * (p->right - p->left);
}

double panel_y(const struct panel *p, double value)
{
    double part = p->most > 0 ? value / p->most : 0;

    return p->bottom - fmin(fmax(part, 0), 1) * (p->bottom - p->top);
}

/* ---- axes ---- */

/* 1, 2 or 5 times a power of ten; bytes: of two. */
static double nice_step(double least, enum table_unit unit)
{
    double power;

    if (unit == UNIT_BYTES)
        return least > 1 ? exp2(ceil(log2(least))) : 1;
    power = least > 0 ? pow(10, floor(log10(least))) : 1;
    return least <= power     ? power
         : least <= 2 * power ? 2 * power
         : least <= 5 * power ? 5 * power
                              : 10 * power;
}

static const char *value_text(char out[TEXT_SIZE], double value, enum table_unit unit)
{
    char *zero;

    if (unit != UNIT_BYTES) {
        snprintf(out, TEXT_SIZE, "%.0f %%", value);
        return out;
    }
    text_size(out, text_rounded(value));
    zero = strstr(out, ".0 "); /* steps are powers of two */
    if (zero)
        memmove(zero, zero + 2, strlen(zero + 2) + 1);
    return out;
}

void panel_scale(const struct panel *p, const char *name)
{
    double step = nice_step(p->most / fmax(2, (p->bottom - p->top) / 44), p->unit);
    char text[TEXT_SIZE];

    for (int i = 0; i <= STEPS_MOST && i * step <= p->most; i++) {
        double value = i * step, y = panel_y(p, value);

        p->canvas->rule(p->canvas, INK_GRID, (struct canvas_point){p->left, y},
                        (struct canvas_point){p->right, y});
        p->canvas->text(p->canvas, INK_FAINT, (struct canvas_point){p->left - 8, y + 4.5}, SMALL,
                        CANVAS_RIGHT, value_text(text, value, p->unit));
    }
    p->canvas->text(p->canvas, INK_FAINT, (struct canvas_point){p->left, p->top - 8}, SMALL,
                    CANVAS_LEFT, name);
}

static const char *time_text(char out[TEXT_SIZE], double ns, double step_ns)
{
    double unit = step_ns >= 60e9 ? 60e9 : step_ns >= 0.1e9 ? 1e9 : step_ns >= 0.1e6 ? 1e6 : 1e3;
    const char *name = unit == 60e9 ? "min" : unit == 1e9 ? "s" : unit == 1e6 ? "ms" : "µs";

    snprintf(out, TEXT_SIZE, "%.*f %s", step_ns / unit < 1 ? 1 : 0, ns / unit, name);
    return out;
}

/* Whole minutes above one. */
static double time_step(double range_ns)
{
    double step = nice_step(range_ns / 8, UNIT_NS);

    return step > 60e9 ? nice_step(range_ns / 8 / 60e9, UNIT_COUNT) * 60e9 : step;
}

void panel_times(const struct panel *p)
{
    double range = p->to_ns - p->from_ns, step = range > 0 ? time_step(range) : 1;
    double first = ceil(p->from_ns / step) * step;
    char text[TEXT_SIZE];

    for (int i = 0; i <= STEPS_MOST && first + i * step <= p->to_ns && range > 0; i++) {
        double ns = first + i * step, x = panel_x(p, ns);

        p->canvas->rule(p->canvas, INK_GRID, (struct canvas_point){x, p->bottom},
                        (struct canvas_point){x, p->bottom + 5});
        if (x < p->right - 24 || ns == p->from_ns)
            p->canvas->text(p->canvas, INK_FAINT, (struct canvas_point){x, p->bottom + 19}, SMALL,
                            CANVAS_MIDDLE, time_text(text, ns, step));
    }
}

/* ---- curves ---- */

struct curve {
    struct canvas_point points[2 * PANEL_POINTS + 4];
    int count;
    double x, most; /* of the points at one place, which are one */
    bool any;
};

/* A step: what held stays until the next. */
static void end_column(const struct panel *p, struct curve *c)
{
    double y = round(panel_y(p, c->most) * 10) / 10; /* no finer than it is written */

    if (!c->any || c->count > 2 * PANEL_POINTS ||
        (c->count && c->points[c->count - 1].y == y)) /* it goes on as it was */
        return;
    if (c->count)
        c->points[c->count] = (struct canvas_point){c->x, c->points[c->count - 1].y}, c->count++;
    c->points[c->count++] = (struct canvas_point){c->x, y};
}

static void put_value(const struct panel *p, struct curve *c, double ns, double value)
{
    double x = round(panel_x(p, ns) * 2) / 2; /* two columns to a unit */

    if (c->any && x == c->x) {
        c->most = fmax(c->most, value);
        return;
    }
    end_column(p, c);
    c->any = true;
    c->x = x;
    c->most = value;
}

static void fill_curve(const struct panel *p, struct curve *c, enum panel_curve how,
                       const struct table *t, const char *column)
{
    for (int row = 0; row < t->rows; row++) {
        double ns = named_number(t, row, "time");

        if (ns < p->from_ns || ns > p->to_ns || !named_cell(t, row, column))
            continue;
        /* What was measured up to here is drawn from the row before on. */
        put_value(p, c, how != PANEL_AREA && row ? named_number(t, row - 1, "time") : ns,
                  how == PANEL_RATE ? rate_at(t, row, column) : named_number(t, row, column));
    }
    end_column(p, c);
    if (c->count)
        c->points[c->count] = (struct canvas_point){p->right, c->points[c->count - 1].y},
        c->count++;
}

void panel_draw(const struct panel *p, enum ink ink, enum panel_curve how, const struct table *t,
                const char *column)
{
    struct curve c = {.count = 0};

    fill_curve(p, &c, how, t, column);
    if (!c.count)
        return;
    if (how == PANEL_RATE) {
        p->canvas->line(p->canvas, ink, c.points, c.count);
        return;
    }
    c.points[c.count++] = (struct canvas_point){p->right, p->bottom};
    c.points[c.count] = (struct canvas_point){c.points[0].x, p->bottom};
    p->canvas->area(p->canvas, ink, c.points, c.count + 1);
}

/* ---- words ---- */

double panel_text_width(const char *text, double size)
{
    double width = 0;
    uint32_t point;

    while (*text) {
        int bytes = utf8_sequence(text, &point);

        width += bytes > 2 && point >= 0x1100 ? 1 : LETTER;
        text += bytes > 0 ? bytes : 1;
    }
    return width * size;
}

const char *panel_fit(struct arena *a, const char *text, double size, double width)
{
    double used = panel_text_width("…", size);
    const char *end = text, *shown;

    if (panel_text_width(text, size) <= width)
        return text;
    while (*end) {
        const char *next = end;
        int bytes = utf8_show(&next, &shown);

        used += (bytes > 2 ? 1 : LETTER) * size;
        if (used > width)
            break;
        end = next;
    }
    return end == text ? "" : arena_printf(a, "%.*s…", (int)(end - text), text);
}

void panel_legend(const struct panel *p, enum ink ink, const char *name, double *x)
{
    *x -= panel_text_width(name, SMALL);
    p->canvas->text(p->canvas, INK_FAINT, (struct canvas_point){*x, p->top - 8}, SMALL, CANVAS_LEFT,
                    name);
    *x -= 16;
    p->canvas->box(p->canvas, ink, *x, p->top - 18, 11, 11);
    *x -= 14;
}
