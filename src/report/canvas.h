/* canvas - what a picture is drawn on: the same calls make an SVG file or the pixels of a PNG.
 * Places are in units of the drawing, from its upper left corner.
 */
#ifndef REPORT_CANVAS_H
#define REPORT_CANVAS_H

#include <stdbool.h>
#include <stdio.h>

/* What something is drawn with: its colour by day and by night. */
#define INKS(X)                                                                                    \
    X(PAPER, 0xffffff, 0x12181f)                                                                   \
    X(WORDS, 0x16202b, 0xe3eaf2)                                                                   \
    X(FAINT, 0x566373, 0x9aa8b7)                                                                   \
    X(GRID, 0xe2e8ef, 0x2a343f)                                                                    \
    X(RSS, 0x7d91a6, 0x8fa3b8)                                                                     \
    X(HEAP, 0x0e8a86, 0x2bb5af)                                                                    \
    X(CPU, 0xa65f00, 0xe0a04c)                                                                     \
    X(READ, 0x0b62b8, 0x62a8ea)                                                                    \
    X(WRITE, 0x9c3f86, 0xd987c6)                                                                   \
    X(PEAK, 0xb3261e, 0xff8a80)                                                                    \
    X(REGION_A, 0xcfe3f7, 0x23405c)                                                                \
    X(REGION_B, 0xe2d9f5, 0x3d3357)                                                                \
    X(REGION_C, 0xd4ecd9, 0x25452d)                                                                \
    X(REGION_D, 0xf7e3c5, 0x57431f)

enum ink {
#define X(name, day, night) INK_##name,
    INKS(X)
#undef X
        INK_COUNT
};

enum canvas_anchor { CANVAS_LEFT, CANVAS_MIDDLE, CANVAS_RIGHT };

struct canvas_point {
    double x, y;
};

struct canvas {
    double width, height;
    void (*box)(struct canvas *c, enum ink ink, double x, double y, double width, double height);
    /* Filled so far through that what is below can be seen, with an outline of the same ink on its
     * upper side: the points but the last two.
     */
    void (*area)(struct canvas *c, enum ink ink, const struct canvas_point *points, int count);
    void (*line)(struct canvas *c, enum ink ink, const struct canvas_point *points, int count);
    void (*rule)(struct canvas *c, enum ink ink, struct canvas_point from, struct canvas_point to);
    void (*dot)(struct canvas *c, enum ink ink, struct canvas_point at);
    void (*text)(struct canvas *c, enum ink ink, struct canvas_point at, double size,
                 enum canvas_anchor anchor, const char *text);
};

#endif
