/* pickled - see pickled.h. */
#include "report/pickled.h"

#include "base/utf8.h"

#include <string.h>

static void put_little(FILE *out, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++, number >>= 8)
        fputc((int)(number & 0xff), out);
}

void pickled_begin(struct pickled *p)
{
    fwrite("\x80\x02", 1, 2, p->out);
}

void pickled_end(struct pickled *p)
{
    fputc('.', p->out);
    intmap_free(&p->known);
}

/* A 32-bit integer, or one of so many bytes whose top bit is the sign. */
void pickled_number(struct pickled *p, uint64_t number)
{
    bool short_one = number <= INT32_MAX;

    fwrite(short_one ? "J" : "\x8a\x09", 1, short_one ? 1 : 2, p->out);
    put_little(p->out, number, short_one ? 4 : 8);
    if (!short_one)
        fputc(0, p->out);
}

void pickled_signed(struct pickled *p, int64_t number)
{
    if (number >= 0) {
        pickled_number(p, (uint64_t)number);
        return;
    }
    fwrite("\x8a\x08", 1, 2, p->out);
    put_little(p->out, (uint64_t)number, 8);
}

void pickled_bool(struct pickled *p, bool value)
{
    fputc(value ? 0x88 : 0x89, p->out);
}

/* The first slots take one byte: those of keys. */
static void put_slot(struct pickled *p, const char ops[2], uint32_t slot)
{
    fputc(ops[slot > 255], p->out);
    put_little(p->out, slot, slot > 255 ? 4 : 1);
}

bool pickled_again(struct pickled *p, const void *place)
{
    uint64_t number;

    if (!intmap_get(&p->known, (uintptr_t)place, &number))
        return false;
    put_slot(p, "hj", (uint32_t)number);
    return true;
}

void pickled_keep(struct pickled *p, const void *place)
{
    put_slot(p, "qr", p->count);
    intmap_put(&p->known, (uintptr_t)place, p->count++);
}

/* Bytes of it as UTF-8; each that is none becomes U+FFFD. */
static size_t put_utf8(FILE *out, const char *text)
{
    size_t bytes = 0;
    uint32_t point;

    while (*text) {
        int n = utf8_sequence(text, &point);

        if (out)
            fwrite(n ? text : "\xef\xbf\xbd", 1, n ? (size_t)n : 3, out);
        bytes += n ? (size_t)n : 3;
        text += n ? n : 1;
    }
    return bytes;
}

void pickled_text(struct pickled *p, const char *text)
{
    text = text ? text : "";
    if (pickled_again(p, text))
        return;
    fputc('X', p->out);
    put_little(p->out, put_utf8(NULL, text), 4);
    put_utf8(p->out, text);
    pickled_keep(p, text);
}

void pickled_open(struct pickled *p, char bracket)
{
    fputs(bracket == '{' ? "}(" : "](", p->out);
}

void pickled_close(struct pickled *p, char bracket)
{
    fputc(bracket == '}' ? 'u' : 'e', p->out);
}

void pickled_pair(struct pickled *p, const char *key, uint64_t number)
{
    pickled_text(p, key);
    pickled_number(p, number);
}

void pickled_both(struct pickled *p, uint64_t one, uint64_t two)
{
    pickled_number(p, one);
    pickled_number(p, two);
    fputc(0x86, p->out);
}
