/* json - see json.h. */
#include "base/emit.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static void new_line(struct emit *j)
{
    fputc('\n', j->out);
    for (int i = 0; i < j->depth; i++)
        fputs("  ", j->out);
}

/* Whatever has to stand before the next key or value. */
static void begin(struct emit *j)
{
    if (j->keyed) {
        j->keyed = false;
        return;
    }
    if (j->depth == 0)
        return;
    if (!j->first)
        fputc(',', j->out);
    if (!j->flat)
        new_line(j);
    else if (!j->first)
        fputc(' ', j->out);
    j->first = false;
}

void emit_open(struct emit *j, char bracket)
{
    begin(j);
    fputc(bracket, j->out);
    j->depth++;
    j->first = true;
}

void emit_close(struct emit *j, char bracket)
{
    j->depth--;
    if (!j->first && !j->flat)
        new_line(j);
    fputc(bracket, j->out);
    j->first = false;
}

/* Bytes of the well-formed UTF-8 sequence at s; 0: there is none. Never looks past the NUL. */
static int sequence(const unsigned char *s)
{
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    int length = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    uint32_t point;

    if (length < 2 || s[0] > 0xf4)
        return length < 2 ? length : 0;
    point = s[0] & (0x7fu >> length);
    for (int i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        point = point << 6 | (s[i] & 0x3f);
    }
    if (point < lowest[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
        return 0;
    return length;
}

static void put_control(FILE *out, unsigned char c)
{
    switch (c) {
    case '\n':
        fputs("\\n", out);
        break;
    case '\t':
        fputs("\\t", out);
        break;
    case '\r':
        fputs("\\r", out);
        break;
    default:
        fprintf(out, "\\u%04x", c);
    }
}

static void put_string(FILE *out, const char *text)
{
    const unsigned char *s = (const unsigned char *)text;

    fputc('"', out);
    while (*s) {
        int length = sequence(s);
        if (length == 0)
            fputs("\xef\xbf\xbd", out);
        else if (*s == '"' || *s == '\\')
            fprintf(out, "\\%c", *s);
        else if (*s < 0x20 || *s == 0x7f)
            put_control(out, *s);
        else
            fwrite(s, 1, (size_t)length, out);
        s += length ? length : 1;
    }
    fputc('"', out);
}

void emit_key(struct emit *j, const char *key)
{
    begin(j);
    put_string(j->out, key);
    fputs(": ", j->out);
    j->keyed = true;
}

void emit_text(struct emit *j, const char *text)
{
    if (!text) {
        emit_null(j);
        return;
    }
    begin(j);
    put_string(j->out, text);
}

void emit_number(struct emit *j, uint64_t number)
{
    begin(j);
    fprintf(j->out, "%" PRIu64, number);
}

void emit_signed(struct emit *j, int64_t number)
{
    begin(j);
    fprintf(j->out, "%" PRId64, number);
}

void emit_real(struct emit *j, double real)
{
    char text[32];

    if (!isfinite(real)) {
        emit_null(j);
        return;
    }
    begin(j);
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, real);
        if (strtod(text, NULL) >= real && strtod(text, NULL) <= real)
            break;
    }
    fputs(text, j->out);
}

void emit_bool(struct emit *j, bool value)
{
    begin(j);
    fputs(value ? "true" : "false", j->out);
}

void emit_null(struct emit *j)
{
    begin(j);
    fputs("null", j->out);
}
