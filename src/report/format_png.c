/* format_png - the picture of the format svg as pixels, for places that take no SVG. */
#include "report/formats.h"
#include "report/plot.h"

#ifdef WITH_PNG
#include "base/memory.h"
#include "report/pixels.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static void put_word(unsigned char to[4], uint32_t word)
{
    for (int i = 0; i < 4; i++)
        to[i] = (unsigned char)(word >> (24 - 8 * i));
}

/* Length, name, bytes, and a checksum of the last two. */
static void put_chunk(const char *name, const unsigned char *bytes, size_t count, FILE *out)
{
    unsigned char word[4];
    uLong sum = crc32(0, (const unsigned char *)name, 4);

    put_word(word, (uint32_t)count);
    fwrite(word, 1, 4, out);
    fwrite(name, 1, 4, out);
    if (count) {
        sum = crc32_z(sum, bytes, count);
        fwrite(bytes, 1, count, out);
    }
    put_word(word, (uint32_t)sum);
    fwrite(word, 1, 4, out);
}

/* Eight bits for each of red, green and blue, by row. */
static void put_head(const struct pixels *p, FILE *out)
{
    unsigned char head[13] = {[8] = 8, [9] = 2};

    fwrite("\x89PNG\r\n\x1a\n", 1, 8, out);
    put_word(head, p->width);
    put_word(head + 4, p->height);
    put_chunk("IHDR", head, sizeof(head), out);
}

/* Each row as its difference to the one above, which is mostly nothing. */
static unsigned char *filter_rows(const struct pixels *p)
{
    size_t row = (size_t)3 * p->width;
    unsigned char *to = memory_resize(NULL, (row + 1) * p->height), *at = to;

    for (unsigned int y = 0; y < p->height; y++) {
        const unsigned char *from = p->rgb + y * row;

        *at++ = 2;
        for (size_t i = 0; i < row; i++)
            *at++ = (unsigned char)(from[i] - (y ? from[(ptrdiff_t)i - (ptrdiff_t)row] : 0));
    }
    return to;
}

static void put_rows(const struct pixels *p, FILE *out)
{
    size_t count = ((size_t)3 * p->width + 1) * p->height;
    unsigned char *rows = filter_rows(p), *packed;
    uLongf bytes = compressBound(count);

    packed = memory_resize(NULL, bytes);
    if (compress2(packed, &bytes, rows, count, 9) != Z_OK)
        memory_give_up();
    put_chunk("IDAT", packed, bytes, out);
    free(packed);
    free(rows);
}

static void write_png(const struct answer *a, FILE *out)
{
    struct pixels p;

    pixels_start(&p, PLOT_WIDTH, plot_height(a));
    plot_draw(a, &p.canvas);
    put_head(&p, out);
    put_rows(&p, out);
    put_chunk("IEND", NULL, 0, out);
    pixels_free(&p);
}

static const char *missing(void)
{
    return NULL;
}
#else
static void write_png(const struct answer *a, FILE *out)
{
    (void)a;
    (void)out;
}

static const char *missing(void)
{
    return "tidemark was built without FreeType or a font (tools/setup build); -f svg writes the same "
           "picture";
}
#endif

const struct format format_png = {
    .name = "png",
    .summary = "the same picture in pixels, for where SVG cannot be shown",
    .question = "curve",
    .asks = plot_asks,
    .missing = missing,
    .write = write_png,
};
