/* linetable - see linetable.h. The tables are read from their start, or where the last reading
 * ended, through a small window, and nothing in them is believed: a sum that leaves the range of
 * lines gives no line.
 */
#include "python/linetable.h"

#define WINDOW 128
#define NO_LINE (-128) /* in 3.10's table */

struct table {
    const struct py_memory *memory;
    uintptr_t at;
    size_t left; /* bytes that are not in the window yet */
    unsigned int next, have;
    uint8_t window[WINDOW];
    size_t bytes; /* of all of it */
    struct py_line_place place;
};

static bool refill(struct table *t)
{
    size_t bytes = t->left < WINDOW ? t->left : WINDOW;

    if (!bytes || !py_read(t->memory, t->at, t->window, bytes))
        return false;
    t->at += bytes;
    t->left -= bytes;
    t->next = 0;
    t->have = (unsigned int)bytes;
    return true;
}

/* The next byte without taking it; -1: none. */
static inline int peek(struct table *t)
{
    if (t->next == t->have && !refill(t))
        return -1;
    return t->window[t->next];
}

static inline int take(struct table *t)
{
    int byte = peek(t);

    if (byte >= 0)
        t->next++;
    return byte;
}

/* An entry begins here. */
static inline void note(struct table *t, uint64_t end, int64_t line)
{
    if (end <= UINT32_MAX)
        t->place = (struct py_line_place){(uint32_t)(t->bytes - t->left - (t->have - t->next)),
                                          (uint32_t)end, line};
}

static uint32_t checked(int64_t line)
{
    return line > 0 && line <= PY_LINE_MOST ? (uint32_t)line : 0;
}

/* To 3.9: pairs of a distance in bytes and one in lines. */
static uint32_t in_lnotab(struct table *t, uint32_t at)
{
    uint64_t end = t->place.end;
    int64_t line = t->place.line;
    int step, lines;

    while ((step = take(t)) >= 0 && (lines = take(t)) >= 0) {
        end += (unsigned int)step;
        if (end > at)
            break;
        line += (int8_t)lines;
        note(t, end, line);
    }
    return checked(line);
}

/* 3.10: pairs of the length of a range and the distance of its line. */
static uint32_t in_ranges(struct table *t, uint32_t at)
{
    uint64_t end = t->place.end;
    int64_t line = t->place.line;
    int step, lines;

    while ((step = take(t)) >= 0 && (lines = take(t)) >= 0) {
        end += (unsigned int)step;
        if ((int8_t)lines != NO_LINE)
            line += (int8_t)lines;
        if (end > at)
            return (int8_t)lines == NO_LINE ? 0 : checked(line);
        note(t, end, line);
    }
    return 0;
}

static int64_t take_signed(struct table *t)
{
    uint64_t value = 0;
    unsigned int shift = 0;
    int byte;

    do {
        byte = take(t);
        if (byte < 0 || byte & 0x80 || shift > 30)
            return 0;
        value |= (uint64_t)(byte & 63) << shift;
        shift += 6;
    } while (byte & 64);
    return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Since 3.11: an entry's first byte alone has its highest bit set; it holds the form and how many
 * instructions of two bytes it is for.
 */
static uint32_t in_locations(struct table *t, uint32_t at)
{
    uint64_t end = t->place.end;
    int64_t line = t->place.line;
    int head;

    while ((head = take(t)) >= 0) {
        int form = head >> 3 & 15;

        end += 2u * (unsigned int)((head & 7) + 1);
        if (form == 13 || form == 14)
            line += take_signed(t);
        else if (form >= 10 && form <= 12)
            line += form - 10;
        if (end > at)
            return form == 15 ? 0 : checked(line);
        while ((head = peek(t)) >= 0 && !(head & 0x80))
            t->next++;
        if (head >= 0)
            note(t, end, line);
    }
    return 0;
}

static uint32_t read_on(enum py_lines format, struct table *t, uint32_t at)
{
    switch (format) {
    case PY_LINES_LNOTAB:
        return in_lnotab(t, at);
    case PY_LINES_RANGES:
        return in_ranges(t, at);
    default:
        return in_locations(t, at);
    }
}

uint32_t py_line(enum py_lines format, const struct py_memory *m, uintptr_t table, size_t bytes,
                 int32_t first, uint32_t at, struct py_line_place *place)
{
    struct table t = {.memory = m, .at = table, .left = bytes, .bytes = bytes};
    uint32_t line;

    t.place.line = first;
    if (place && place->end && place->end <= at && place->read <= bytes) {
        t.place = *place;
        t.at += place->read;
        t.left -= place->read;
    }
    line = read_on(format, &t, at);
    if (place)
        *place = t.place;
    return line;
}
