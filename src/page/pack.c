/* pack - see pack.h. */
#include "page/pack.h"

#include "base/memory.h"
#include "base/utf8.h"
#include "trace/varint.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define LEVEL 6 /* 9 takes three times as long for 3 % less */
#define PORTION ((size_t)1 << 16)

void bytes_put(struct bytes *b, const void *data, size_t count)
{
    memory_fit(b->data, b->room, b->count + count);
    if (count)
        memcpy(b->data + b->count, data, count);
    b->count += count;
}

void bytes_put_u32(struct bytes *b, uint32_t number)
{
    const unsigned char all[] = {(unsigned char)number, (unsigned char)(number >> 8),
                                 (unsigned char)(number >> 16), (unsigned char)(number >> 24)};

    bytes_put(b, all, sizeof(all));
}

void bytes_varint(struct bytes *b, uint64_t number)
{
    memory_fit(b->data, b->room, b->count + VARINT_MOST);
    b->count = (size_t)(varint_put(b->data + b->count, number) - b->data);
}

void bytes_free(struct bytes *b)
{
    free(b->data);
    *b = (struct bytes){0};
}

/* Whatever is not UTF-8 becomes U+FFFD. */
static void put_text(struct bytes *b, const char *text)
{
    while (*text) {
        uint32_t point;
        int n = utf8_sequence(text, &point);

        if (n)
            bytes_put(b, text, (size_t)n);
        else
            bytes_put(b, "\xef\xbf\xbd", 3);
        text += n ? n : 1;
    }
}

uint32_t pack_string(struct pack *p, const char *text)
{
    uint64_t number;

    if (!text || !*text)
        return 0;
    if (intmap_get(&p->known, (uintptr_t)text, &number))
        return (uint32_t)number;
    bytes_put(&p->strings, "", 1);
    put_text(&p->strings, text);
    intmap_put(&p->known, (uintptr_t)text, ++p->string_count);
    return p->string_count;
}

void pack_bytes(struct pack *p, const char *name, struct bytes *b)
{
    if (p->count == PACK_SECTIONS) {
        bytes_free(b);
        return;
    }
    memcpy(p->sections[p->count].name, name, 4);
    p->sections[p->count++].bytes = *b;
    *b = (struct bytes){0};
}

void pack_columns(struct pack *p, const char *name, struct columns *c)
{
    struct bytes all = {0};

    bytes_put_u32(&all, (uint32_t)c->count);
    for (int i = 0; i < c->count; i++)
        bytes_put_u32(&all, (uint32_t)c->of[i].count);
    for (int i = 0; i < c->count; i++) {
        bytes_put(&all, c->of[i].data, c->of[i].count);
        bytes_free(&c->of[i]);
    }
    pack_bytes(p, name, &all);
}

static bool feed(z_stream *z, const struct bytes *in, bool last, struct bytes *out)
{
    z->next_in = in->data;
    z->avail_in = (unsigned int)in->count;
    do {
        int result;

        memory_fit(out->data, out->room, out->count + PORTION);
        z->next_out = out->data + out->count;
        z->avail_out = (unsigned int)PORTION;
        result = deflate(z, last ? Z_FINISH : Z_NO_FLUSH);
        if (result == Z_STREAM_ERROR)
            return false;
        out->count += PORTION - z->avail_out;
    } while (!z->avail_out);
    return true;
}

static struct bytes head_of(const struct pack *p)
{
    struct bytes head = {0};

    bytes_put(&head, "TPG1", 4);
    bytes_put_u32(&head, (uint32_t)p->count);
    for (int i = 0; i < p->count; i++) {
        bytes_put(&head, p->sections[i].name, 4);
        bytes_put_u32(&head, (uint32_t)p->sections[i].bytes.count);
    }
    return head;
}

bool pack_deflate(struct pack *p, struct bytes *out, size_t *raw)
{
    z_stream z = {0};
    struct bytes head;
    bool good;

    pack_bytes(p, "STRS", &p->strings);
    head = head_of(p);
    if (deflateInit2(&z, LEVEL, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
        bytes_free(&head);
        return false;
    }
    good = feed(&z, &head, p->count == 0, out);
    *raw = head.count;
    for (int i = 0; i < p->count; i++) {
        good = good && feed(&z, &p->sections[i].bytes, i + 1 == p->count, out);
        *raw += p->sections[i].bytes.count;
    }
    deflateEnd(&z);
    bytes_free(&head);
    return good;
}

void pack_free(struct pack *p)
{
    for (int i = 0; i < p->count; i++)
        bytes_free(&p->sections[i].bytes);
    bytes_free(&p->strings);
    intmap_free(&p->known);
    *p = (struct pack){0};
}
