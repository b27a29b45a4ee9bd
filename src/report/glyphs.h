/* glyphs - letters as pixels: what tools/make_glyphs.c writes when the tool is built, and -f png
 * reads. */
#ifndef REPORT_GLYPHS_H
#define REPORT_GLYPHS_H

#include <stddef.h>
#include <stdint.h>

/* In pixels. */
static const unsigned int glyphs_sizes[] = {16, 17, 19, 23};

struct glyph { /* followed by one byte for each pixel, by row: how much of it is covered */
    uint32_t point;
    uint16_t size;
    uint16_t advance;  /* in 64ths of a pixel */
    int16_t left, top; /* of its pixels: from its place, up to the first row */
    uint16_t width, height;
};

extern const unsigned char glyphs_packed[]; /* all of them, by size and code point, deflated */
extern const size_t glyphs_bytes, glyphs_packed_bytes;

#endif
