/* emit - see emit.h. */
#include "base/emit.h"

#include "base/utf8.h"

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

/* A control, or what would mislead whoever looks at the file: as its code, which reads back the
 * same.
 */
static void put_code(FILE *out, uint32_t point)
{
    if (point == '\n' || point == '\t' || point == '\r')
        fprintf(out, "\\%c", point == '\n' ? 'n' : point == '\t' ? 't' : 'r');
    else if (point < 0x10000)
        fprintf(out, "\\u%04x", point);
    else
        fprintf(out, "\\u%04x\\u%04x", 0xd7c0 + (point >> 10), 0xdc00 + (point & 0x3ff));
}

/* How many bytes stand for themselves: most texts are nothing else. */
static size_t plain_bytes(const char *text)
{
    size_t n = 0;

    while (text[n] >= ' ' && text[n] < 0x7f && text[n] != '"' && text[n] != '\\')
        n++;
    return n;
}

/* One character that does not; returns its length in bytes. */
static size_t put_character(FILE *out, const char *text)
{
    uint32_t point;
    int length = utf8_sequence(text, &point);

    if (length == 0)
        fputs("\xef\xbf\xbd", out);
    else if (point == '"' || point == '\\')
        fprintf(out, "\\%c", (char)point);
    else if (!utf8_is_plain(point))
        put_code(out, point);
    else
        fwrite(text, 1, (size_t)length, out);
    return length ? (size_t)length : 1;
}

static void put_string(FILE *out, const char *text)
{
    fputc('"', out);
    while (*text) {
        size_t plain = plain_bytes(text);

        if (plain)
            fwrite(text, 1, plain, out);
        else
            plain = put_character(out, text);
        text += plain;
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

size_t emit_text_size(const char *text)
{
    size_t size = 2;

    for (; *text; text++) /* as \u1234, or a few for one */
        size += *text >= ' ' && *text < 0x7f && *text != '"' && *text != '\\' ? 1 : 6;
    return size;
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
