/* live - see live.h. The terminal's size is asked for at every draw: it may have changed, and the
 * reserved lines with it.
 */
#include "report/live.h"

#include "base/clock.h"
#include "base/count.h"
#include "base/text.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LINES 2
#define ROWS_LEAST 6
#define DRAW_NS 100000000u
#define PLAIN_NS CLOCK_SECOND_NS
#define LINE_ROOM 1024

static bool usable(const struct live *l)
{
    const char *kind = getenv("TERM");

    return isatty(fileno(l->out)) && kind && strcmp(kind, "dumb") && *kind;
}

/* Keep the command's output above our lines. Moving down by ESC D makes room and keeps the column,
 * for the command may stand in the middle of a line. One write, so that nothing comes between.
 */
static void reserve(struct live *l, int rows, int columns)
{
    l->rows = rows;
    l->columns = columns;
    fprintf(l->out, "\033D\033D\033[%dA\0337\033[1;%dr\0338", LINES, rows - LINES);
    l->drawn = true;
}

void live_clear(struct live *l)
{
    if (!l->drawn)
        return;
    fprintf(l->out, "\0337\033[r\033[%d;1H\033[J\0338", l->rows - LINES + 1);
    fflush(l->out);
    l->drawn = false;
}

/* Names come from strangers: nothing that steers a terminal may pass. */
static void append(char *line, const char *text)
{
    size_t n = strlen(line);

    for (; *text && n + 1 < LINE_ROOM; text++)
        line[n++] = (unsigned char)*text < ' ' || *text == 0x7f ? '?' : *text;
    line[n] = '\0';
}

static void append_size(const struct live *l, char *line, const char *label, uint64_t bytes)
{
    char size[TEXT_SIZE];

    append(line, label);
    append(line, text_size_in(size, bytes, l->unit));
}

/* The last `width` values, each as a character between the least and the largest. */
static void append_sparkline(const struct live *l, char *line, size_t width)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const ascii[] = {"_", ".", "-", "=", "+", "*", "%", "#"};
    const char *const *set = l->terminal.utf8 ? blocks : ascii;
    size_t shown = l->count < LIVE_HISTORY ? l->count : LIVE_HISTORY;
    uint64_t most = 1;

    if (width > shown)
        width = shown;
    for (size_t i = l->count - width; i < l->count; i++)
        if (l->history[i % LIVE_HISTORY] > most)
            most = l->history[i % LIVE_HISTORY];
    for (size_t i = l->count - width; i < l->count; i++)
        append(line, set[l->history[i % LIVE_HISTORY] * 7 / most]);
}

/* Cut a line to the terminal's width, at whole characters. */
static void cut(char *line, size_t columns)
{
    size_t n = 0;

    for (char *s = line; *s; s++)
        if (((unsigned char)*s & 0xc0) != 0x80 && n++ == columns) {
            *s = '\0';
            return;
        }
}

static void compose(const struct live *l, const struct watch_view *v, char *first, char *second)
{
    char text[64];
    size_t used;

    append_size(l, first, "Current RSS: ", v->rss);
    append_size(l, first, " | Peak RSS: ", v->peak_rss);
    append(first, " | ");
    used = text_width(first);
    if (used + 4 < (size_t)l->columns)
        append_sparkline(l, first, (size_t)l->columns - used - 1);
    append_size(l, second, "Current VSZ: ", v->vsz);
    append_size(l, second, " | Peak VSZ: ", v->peak_vsz);
    snprintf(text, sizeof(text), " | %.0f s, %d process%s", (double)v->elapsed_ns / 1e9,
             v->processes, v->processes == 1 ? "" : "es");
    append(second, text);
    for (int i = 0; i < COUNT(v->top) && v->top[i].name; i++) {
        append(second, i ? ", " : ": ");
        append(second, utf8_clean(text, sizeof(text), v->top[i].name));
        append_size(l, second, " ", v->top[i].rss);
    }
    cut(first, (size_t)l->columns);
    cut(second, (size_t)l->columns);
}

/* Have our lines for the terminal as it is now. False: there is no room for them. */
static bool fit(struct live *l)
{
    struct winsize size;

    if (ioctl(fileno(l->out), TIOCGWINSZ, &size) < 0 || size.ws_row < ROWS_LEAST || !size.ws_col) {
        live_clear(l);
        return false;
    }
    if (l->drawn && (size.ws_row != l->rows || size.ws_col != l->columns))
        live_clear(l);
    if (!l->drawn)
        reserve(l, size.ws_row, size.ws_col);
    return true;
}

void live_begin(struct live *l, FILE *out, const char *unit)
{
    *l = (struct live){.out = out, .unit = unit, .terminal = terminal_of(out)};
    if (usable(l))
        fit(l);
}

static void draw_lines(struct live *l, const struct watch_view *v)
{
    const char *dim = l->terminal.colour ? "\033[2m" : "",
               *plain = l->terminal.colour ? "\033[0m" : "";
    char first[LINE_ROOM] = "", second[LINE_ROOM] = "";

    if (!fit(l))
        return;
    compose(l, v, first, second);
    fprintf(l->out, "\0337\033[%d;1H\033[2K%s%s%s\033[%d;1H\033[2K%s%s%s\0338", l->rows - 1, dim,
            first, plain, l->rows, dim, second, plain);
    fflush(l->out);
}

static void draw_plain(struct live *l, const struct watch_view *v)
{
    char rss[TEXT_SIZE], peak[TEXT_SIZE];

    fprintf(l->out, "Current RSS: %s | Peak RSS: %s | %.0f s, %d process%s\n",
            text_size_in(rss, v->rss, l->unit), text_size_in(peak, v->peak_rss, l->unit),
            (double)v->elapsed_ns / 1e9, v->processes, v->processes == 1 ? "" : "es");
    fflush(l->out);
}

void live_draw(struct live *l, const struct watch_view *v)
{
    bool lines = usable(l);

    l->history[l->count++ % LIVE_HISTORY] = v->rss;
    if (l->drawn_ns && v->elapsed_ns < l->drawn_ns + (lines ? DRAW_NS : PLAIN_NS))
        return;
    l->drawn_ns = v->elapsed_ns ? v->elapsed_ns : 1;
    if (lines)
        draw_lines(l, v);
    else
        draw_plain(l, v);
}
