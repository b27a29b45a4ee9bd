/* text - see text.h. Numbers are read by strtod, but only from digits and one point: no
 * hexadecimal, no infinity, and no sign, which it would take as well.
 */
#include "base/text.h"

#include "base/clock.h"
#include "base/count.h"
#include "base/utf8.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct unit {
    const char *name;
    double bytes;
};

#define KI 1024.0
static const struct unit size_units[] = {
    {"", 1},
    {"B", 1},
    {"K", 1e3},
    {"KB", 1e3},
    {"M", 1e6},
    {"MB", 1e6},
    {"G", 1e9},
    {"GB", 1e9},
    {"T", 1e12},
    {"TB", 1e12},
    {"KIB", KI},
    {"MIB", KI *KI},
    {"GIB", KI *KI *KI},
    {"TIB", KI *KI *KI *KI},
};
static const struct unit shown_units[] = {
    {"B", 1},    {"KB", 1e3},     {"MB", 1e6},         {"GB", 1e9},
    {"KiB", KI}, {"MiB", KI *KI}, {"GiB", KI *KI *KI},
};
static const struct unit time_units[] = {{"", 1e6}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}};

static const struct unit *unit_find(const struct unit *units, size_t count, const char *name,
                                    int (*compare)(const char *, const char *))
{
    for (size_t i = 0; i < count; i++)
        if (!compare(units[i].name, name))
            return &units[i];
    return NULL;
}

bool text_parse_number(const char *text, uint64_t *number)
{
    uint64_t n = 0;

    if (!*text)
        return false;
    for (; *text; text++) {
        uint64_t digit = (uint64_t)(*text - '0');

        if (!isdigit((unsigned char)*text) || n > (UINT64_MAX - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *number = n;
    return true;
}

/* "[0-9.]+" then the name of a unit; the value in *out. */
static bool parse_amount(const char *text, const struct unit *units, size_t count,
                         int (*compare)(const char *, const char *), double *out)
{
    char number[64], name[8], *end;
    size_t digits, len;
    const struct unit *unit;

    text += strspn(text, " \t\n");
    digits = strspn(text, "0123456789.");
    if (!digits || digits >= sizeof(number))
        return false;
    memcpy(number, text, digits);
    number[digits] = '\0';
    text += digits;
    text += strspn(text, " \t");
    len = strlen(text);
    while (len && isspace((unsigned char)text[len - 1]))
        len--;
    if (len >= sizeof(name))
        return false;
    memcpy(name, text, len);
    name[len] = '\0';
    unit = unit_find(units, count, name, compare);
    *out = strtod(number, &end);
    if (!unit || *end || !strcmp(number, "."))
        return false;
    *out *= unit->bytes;
    return true;
}

int text_parse_size(const char *text, uint64_t *bytes, struct err *err)
{
    double amount;

    if (text_parse_number(text, bytes))
        return 0;
    if (!parse_amount(text, size_units, COUNT(size_units), strcasecmp, &amount))
        return err_code(
            err, 2, "'%s' is not a size; write bytes or a unit, such as 512M, 1.5GB or 1GiB", text);
    *bytes = amount >= 18446744073709549568.0 ? UINT64_MAX : (uint64_t)amount;
    return 0;
}

int text_parse_interval(const char *text, uint64_t *ns, struct err *err)
{
    bool plain = !text[strspn(text, "0123456789")];
    double amount = 0;

    if ((strchr(text, '.') && !text[strspn(text, "0123456789.")]) ||
        !parse_amount(text, time_units, COUNT(time_units), strcmp, &amount))
        return err_code(err, 2,
                        "'%s' is not an interval; write whole milliseconds or a unit, such as "
                        "100, 50ms or 0.05s",
                        text);
    if (amount < 1e6 || amount > 86400e9)
        return err_code(err, 2, "an interval of '%s%s' is out of range; it must be 1ms to 1 day",
                        text, plain ? "ms" : "");
    *ns = (uint64_t)(amount + 0.5);
    return 0;
}

int text_parse_moment(const char *text, uint64_t whole_ns, uint64_t *ns, struct err *err)
{
    const struct unit units[] = {{"", 1e9},
                                 {"s", 1e9},
                                 {"ms", 1e6},
                                 {"us", 1e3},
                                 {"m", 60e9},
                                 {"h", 3600e9},
                                 {"%", (double)whole_ns / 100}};
    double amount = 0;

    if (!parse_amount(text, units, COUNT(units), strcmp, &amount))
        return err_code(err, 2,
                        "'%s' is not a time; write seconds, a unit or a part of the whole, such as "
                        "1.5, 200ms or 50%%",
                        text);
    if (amount > 1e18)
        return err_code(err, 2, "a time of '%s' is out of range", text);
    *ns = (uint64_t)(amount + 0.5);
    return 0;
}

char *text_size(char out[TEXT_SIZE], uint64_t bytes)
{
    static const char *const names[] = {"KiB", "MiB", "GiB", "TiB"};
    double n = (double)bytes / 1024;
    size_t i = 0;

    if (bytes < 1024) {
        snprintf(out, TEXT_SIZE, "%" PRIu64 " B", bytes);
        return out;
    }
    while (n >= 1023.95 && i + 1 < COUNT(names)) { /* which would be shown as 1024.0 */
        n /= 1024;
        i++;
    }
    snprintf(out, TEXT_SIZE, "%.1f %s", n, names[i]);
    return out;
}

bool text_unit_known(const char *unit)
{
    return unit_find(shown_units, COUNT(shown_units), unit, strcmp) != NULL;
}

char *text_size_in(char out[TEXT_SIZE], uint64_t bytes, const char *unit)
{
    const struct unit *u = unit ? unit_find(shown_units, COUNT(shown_units), unit, strcmp) : NULL;

    if (!u)
        return text_size(out, bytes);
    if (u->bytes <= 1)
        snprintf(out, TEXT_SIZE, "%" PRIu64 " B", bytes);
    else
        snprintf(out, TEXT_SIZE, "%.1f %s", (double)bytes / u->bytes, u->name);
    return out;
}

char *text_duration(char out[TEXT_SIZE], uint64_t ns)
{
    uint64_t s = ns / CLOCK_SECOND_NS;

    /* What rounds to one of the next unit is shown in that: 999.7 ms are 1.00 s. */
    if (ns < 999500u)
        snprintf(out, TEXT_SIZE, "%.0f us", (double)ns / 1e3);
    else if (ns < 999500000u)
        snprintf(out, TEXT_SIZE, "%.0f ms", (double)ns / 1e6);
    else if (ns < 59995000000u)
        snprintf(out, TEXT_SIZE, "%.2f s", (double)ns / 1e9);
    else if (s < 60)
        snprintf(out, TEXT_SIZE, "1 m 00 s");
    else if (s < 3600)
        snprintf(out, TEXT_SIZE, "%" PRIu64 " m %02" PRIu64 " s", s / 60, s % 60);
    else
        snprintf(out, TEXT_SIZE, "%" PRIu64 " h %02" PRIu64 " m", s / 3600, s / 60 % 60);
    return out;
}

static void split(uint64_t real_ns, struct tm *tm)
{
    time_t s = (time_t)(real_ns / CLOCK_SECOND_NS);

    gmtime_r(&s, tm);
}

char *text_stamp(char out[TEXT_STAMP], uint64_t real_ns)
{
    struct tm tm;
    size_t n;

    split(real_ns, &tm);
    n = strftime(out, TEXT_STAMP, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out + n, TEXT_STAMP - n, ".%06u+00:00", (unsigned)(real_ns % CLOCK_SECOND_NS / 1000));
    return out;
}

char *text_date(char out[TEXT_STAMP], uint64_t real_ns)
{
    struct tm tm;

    split(real_ns, &tm);
    strftime(out, TEXT_STAMP, "%Y-%m-%d %H:%M:%S", &tm);
    return out;
}

const char *text_base(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash && slash[1] ? slash + 1 : path;
}

int text_place(char *out, size_t room, const char *path, uint64_t address)
{
    return snprintf(out, room, "%s+0x%" PRIx64, text_base(path), address);
}

bool text_is_place(const char *function, const char *path)
{
    const char *base = text_base(path);
    size_t length = strlen(base);

    return strncmp(function, base, length) == 0 && strncmp(function + length, "+0x", 3) == 0;
}

const char *text_source(const char *path)
{
    const char *base = text_base(path), *at = base;

    if (!path || base - path < 2 || strncmp(base, "__", 2) != 0)
        return base;
    for (at -= 2; at > path && *at != '/'; at--)
        ;
    return *at == '/' ? at + 1 : at;
}

size_t text_width(const char *utf8)
{
    const char *shown;
    size_t n = 0;

    for (; *utf8; n++)
        utf8_show(&utf8, &shown);
    return n;
}

char *text_count(char out[TEXT_SIZE], uint64_t number)
{
    char digits[24];
    int n = snprintf(digits, sizeof(digits), "%" PRIu64, number), to = 0;

    for (int i = 0; i < n; i++) {
        if (i && (n - i) % 3 == 0)
            out[to++] = ',';
        out[to++] = digits[i];
    }
    out[to] = '\0';
    return out;
}

uint64_t text_rounded(double value)
{
    if (!(value > 0))
        return 0;
    return value + 0.5 < 0x1p64 ? (uint64_t)(value + 0.5) : UINT64_MAX;
}
