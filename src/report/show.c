/* show - see show.h. */
#include "report/show.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ZONE " UTC"

_Static_assert(SHOW_ROOM > TEXT_SIZE, "a size must fit");
_Static_assert(SHOW_ROOM >= TEXT_STAMP + sizeof(ZONE), "a date must fit");

bool show_is_text(enum table_unit unit)
{
    return unit == UNIT_TEXT || unit == UNIT_STACK || unit == UNIT_MOMENT;
}

static const char *signed_size(char out[SHOW_ROOM], int64_t change)
{
    out[0] = change < 0 ? '-' : '+';
    text_size(out + 1, change < 0 ? 0 - (uint64_t)change : (uint64_t)change);
    return change ? out : "0 B";
}

static const char *signed_duration(char out[SHOW_ROOM], int64_t change)
{
    out[0] = change < 0 ? '-' : '+';
    text_duration(out + 1, change < 0 ? 0 - (uint64_t)change : (uint64_t)change);
    return change ? out : "0 s";
}

const char *show_cell(char out[SHOW_ROOM], const struct table_cell *c)
{
    if (!c->present)
        return "n/a";
    switch ((enum table_unit)c->unit) {
    case UNIT_TEXT:
        return c->text;
    case UNIT_BYTES:
        return text_size(out, c->number);
    case UNIT_CHANGE:
        return signed_size(out, c->change);
    case UNIT_LONGER:
        return signed_duration(out, c->change);
    case UNIT_NS:
        return c->number ? text_duration(out, c->number) : "0 s";
    case UNIT_COUNT:
        return text_count(out, c->number);
    case UNIT_PERCENT:
        snprintf(out, SHOW_ROOM, "%.1f %%", c->real);
        return out;
    case UNIT_STACK: /* the formats write these themselves */
    case UNIT_SERIES:
    case UNIT_REAL:
    case UNIT_ID:
    case UNIT_DEPTH:
    case UNIT_MOMENT:
        break;
    }
    return show_plain(out, c);
}

static void moment(char out[SHOW_ROOM], uint64_t real_ns)
{
    text_date(out, real_ns);
    memcpy(out + strlen(out), ZONE, sizeof(ZONE));
}

static void shortest(char out[SHOW_ROOM], double real)
{
    for (int digits = 6; digits <= 17; digits++) {
        double back;

        snprintf(out, SHOW_ROOM, "%.*g", digits, real);
        back = strtod(out, NULL);
        if (back >= real && back <= real)
            return;
    }
}

const char *show_plain(char out[SHOW_ROOM], const struct table_cell *c)
{
    if (!c->present || c->unit == UNIT_STACK || c->unit == UNIT_SERIES)
        return "";
    if (c->unit == UNIT_TEXT)
        return c->text;
    if (c->unit == UNIT_PERCENT)
        snprintf(out, SHOW_ROOM, "%.3f", c->real);
    else if (c->unit == UNIT_CHANGE || c->unit == UNIT_LONGER)
        snprintf(out, SHOW_ROOM, "%" PRId64, c->change);
    else if (c->unit == UNIT_REAL)
        shortest(out, c->real);
    else if (c->unit == UNIT_MOMENT)
        moment(out, c->number);
    else
        snprintf(out, SHOW_ROOM, "%" PRIu64, c->number);
    return out;
}

const char *show_short_size(char out[SHOW_ROOM], double bytes)
{
    static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    int unit = 0;

    for (; bytes >= 999.5 && unit < 6; unit++)
        bytes /= 1024;
    snprintf(out, SHOW_ROOM, unit && bytes < 9.95 ? "%.1f%s" : "%.0f%s", bytes, units[unit]);
    return out;
}

const char *show_short_time(char out[SHOW_ROOM], double ns)
{
    static const struct {
        double ns;
        const char *name;
    } units[] = {{3.6e12, "h"}, {6e10, "m"}, {1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    int unit = 0;

    while (unit < 5 && ns < units[unit].ns * (unit < 2 ? 2 : 0.9995))
        unit++;
    ns /= units[unit].ns;
    snprintf(out, SHOW_ROOM, ns < 9.95 && unit < 5 ? "%.1f%s" : "%.0f%s", ns, units[unit].name);
    return out;
}
