/* make_glyphs FONT OUT.c - the letters of a font as pixels, in the sizes that -f png writes, as an array
 * of C. Run when the tool is built, so that the tool itself needs neither a font nor what reads one.
 *
 * For each letter: its code point and size in pixels, how far the next one is (in 64ths), its place, its
 * extent, then how much of each of its pixels is covered, by row. All of it is deflated.
 */
#include "report/glyphs.h"

#include <ft2build.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include FT_FREETYPE_H

/* What commands, files, regions and our own words are mostly written in. */
static const struct {
    unsigned int from, to;
} letters[] = {
    {0x20, 0x7e},     {0xa0, 0x17f},    {0x370, 0x3ff},   {0x400, 0x45f},
    {0x2010, 0x2027}, {0x20ac, 0x20ac}, {0x2190, 0x2193}, {0x2212, 0x2212},
    {0x2248, 0x2248}, {0x2260, 0x2265}, {0xfffd, 0xfffd},
};

static unsigned char *all;
static size_t count, room;

static void put(const void *bytes, size_t more)
{
    if (count + more > room)
        all = realloc(all, room = 2 * (count + more));
    if (!all)
        exit(1);
    memcpy(all + count, bytes, more);
    count += more;
}

/* Sixteen steps of grey are enough, and take half the room. */
static void put_letter(FT_GlyphSlot g, unsigned int point, unsigned int size)
{
    const struct glyph head = {.point = point,
                               .size = (unsigned short)size,
                               .advance = (unsigned short)g->advance.x,
                               .left = (short)g->bitmap_left,
                               .top = (short)g->bitmap_top,
                               .width = (unsigned short)g->bitmap.width,
                               .height = (unsigned short)g->bitmap.rows};

    put(&head, sizeof(head));
    for (unsigned int row = 0; row < g->bitmap.rows; row++)
        for (unsigned int i = 0; i < g->bitmap.width; i++) {
            unsigned char cover = g->bitmap.buffer[(int)row * g->bitmap.pitch + (int)i];

            cover = (unsigned char)((cover + 8) / 17 * 17);
            put(&cover, 1);
        }
}

static void put_size(FT_Face face, unsigned int size)
{
    if (FT_Set_Pixel_Sizes(face, 0, size))
        exit(1);
    for (size_t i = 0; i < sizeof(letters) / sizeof(*letters); i++)
        for (unsigned int point = letters[i].from; point <= letters[i].to; point++)
            if (FT_Get_Char_Index(face, point) && !FT_Load_Char(face, point, FT_LOAD_RENDER))
                put_letter(face->glyph, point, size);
}

static int write_all(FILE *out)
{
    uLongf bytes = compressBound(count);
    unsigned char *packed = malloc(bytes);

    if (!packed || compress2(packed, &bytes, all, count, 9) != Z_OK)
        return 1;
    fprintf(out,
            "/* Made by tools/make_glyphs.c. */\n#include \"report/glyphs.h\"\n\n"
            "const size_t glyphs_bytes = %zu, glyphs_packed_bytes = %lu;\n"
            "const unsigned char glyphs_packed[] = {",
            count, bytes);
    for (uLongf i = 0; i < bytes; i++)
        fprintf(out, "%s%d,", i % 24 ? " " : "\n", packed[i]);
    fputs("\n};\n", out);
    free(packed);
    free(all);
    return ferror(out) || fclose(out);
}

int main(int argc, char **argv)
{
    FT_Library library;
    FT_Face face;
    FILE *out = argc == 3 ? fopen(argv[2], "w") : NULL;

    if (!out || FT_Init_FreeType(&library) || FT_New_Face(library, argv[1], 0, &face)) {
        fprintf(stderr, "make_glyphs: cannot read the font '%s'\n", argc > 1 ? argv[1] : "");
        return 1;
    }
    for (size_t i = 0; i < sizeof(glyphs_sizes) / sizeof(*glyphs_sizes); i++)
        put_size(face, glyphs_sizes[i]);
    FT_Done_Face(face);
    FT_Done_FreeType(library);
    return write_all(out);
}
