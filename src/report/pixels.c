/* pixels - see pixels.h. */
#ifdef WITH_PNG
#include "report/pixels.h"

#include "base/count.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "report/glyphs.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#define AREA_PART 0.3
#define CURVE_WIDTH 1.4
#define DOT_RADIUS 4.5
#define UNKNOWN 0xfffd /* what is written for a letter that is not there */

static void blend(struct pixels *p, long x, long y, enum ink ink, double part)
{
    static const uint32_t colours[] = {
#define X(name, day, night) day,
        INKS(X)
#undef X
    };
    unsigned char *at;

    if (x < 0 || y < 0 || x >= (long)p->width || y >= (long)p->height || part <= 0)
        return;
    at = p->rgb + 3 * ((size_t)y * p->width + (size_t)x);
    for (int i = 0; i < 3; i++) {
        int to = (int)(colours[ink] >> (16 - 8 * i) & 255);

        at[i] = (unsigned char)lround(at[i] + (to - at[i]) * part);
    }
}

/* ---- shapes ---- */

/* How much of the pixel from `at` on lies between two places. */
static double overlap(double at, double from, double to)
{
    return fmax(0, fmin(at + 1, to) - fmax(at, from));
}

static void fill(struct pixels *p, enum ink ink, struct canvas_point from, struct canvas_point to,
                 double part)
{
    double left = fmax(from.x * PIXELS_PER_UNIT, 0), top = fmax(from.y * PIXELS_PER_UNIT, 0);
    double right = fmin(to.x * PIXELS_PER_UNIT, p->width);
    double bottom = fmin(to.y * PIXELS_PER_UNIT, p->height);

    for (long y = (long)top; (double)y < bottom; y++)
        for (long x = (long)left; (double)x < right; x++)
            blend(p, x, y, ink,
                  part * overlap((double)x, left, right) * overlap((double)y, top, bottom));
}

static void draw_box(struct canvas *c, enum ink ink, double x, double y, double width,
                     double height)
{
    fill((struct pixels *)c, ink, (struct canvas_point){x, y},
         (struct canvas_point){x + width, y + height}, 1);
}

/* Level or upright. */
static void stroke(struct pixels *p, enum ink ink, struct canvas_point a, struct canvas_point b,
                   double width)
{
    struct canvas_point from = {fmin(a.x, b.x) - width / 2, fmin(a.y, b.y) - width / 2};
    struct canvas_point to = {fmax(a.x, b.x) + width / 2, fmax(a.y, b.y) + width / 2};

    fill(p, ink, from, to, 1);
}

static void draw_line(struct canvas *c, enum ink ink, const struct canvas_point *points, int count)
{
    for (int i = 1; i < count; i++)
        stroke((struct pixels *)c, ink, points[i - 1], points[i], CURVE_WIDTH);
}

/* The nearest edge of a pixel, so that no two stretches share one. */
static double whole(double x)
{
    return round(x * PIXELS_PER_UNIT) / PIXELS_PER_UNIT;
}

/* Down from each level stretch of its upper side to its lower one. */
static void draw_area(struct canvas *c, enum ink ink, const struct canvas_point *points, int count)
{
    double bottom = points[count - 1].y;

    for (int i = 1; i < count - 2; i++)
        if (points[i].x > points[i - 1].x)
            fill((struct pixels *)c, ink,
                 (struct canvas_point){whole(points[i - 1].x), points[i - 1].y},
                 (struct canvas_point){whole(points[i].x), bottom}, AREA_PART);
    draw_line(c, ink, points, count - 2);
}

static void draw_rule(struct canvas *c, enum ink ink, struct canvas_point from,
                      struct canvas_point to)
{
    stroke((struct pixels *)c, ink, from, to, 1 / PIXELS_PER_UNIT);
}

static void draw_dot(struct canvas *c, enum ink ink, struct canvas_point at)
{
    struct pixels *p = (struct pixels *)c;
    double x = at.x * PIXELS_PER_UNIT, y = at.y * PIXELS_PER_UNIT;
    double radius = DOT_RADIUS * PIXELS_PER_UNIT;

    for (long row = (long)floor(y - radius); (double)row <= y + radius; row++)
        for (long i = (long)floor(x - radius); (double)i <= x + radius; i++)
            blend(p, i, row, ink,
                  fmin(1, radius + 0.5 - hypot((double)i + 0.5 - x, (double)row + 0.5 - y)));
}

/* ---- letters ---- */

static unsigned int size_of(double units)
{
    unsigned int best = glyphs_sizes[0];

    for (int i = 1; i < COUNT(glyphs_sizes); i++)
        if (fabs(glyphs_sizes[i] - units * PIXELS_PER_UNIT) < fabs(best - units * PIXELS_PER_UNIT))
            best = glyphs_sizes[i];
    return best;
}

/* With its pixels after it; false: there is no such letter. */
static bool find_glyph(const struct pixels *p, unsigned int size, uint32_t point, struct glyph *g,
                       const unsigned char **cover)
{
    for (size_t at = 0; at + sizeof(*g) <= glyphs_bytes;) {
        memcpy(g, p->glyphs + at, sizeof(*g));
        *cover = p->glyphs + at + sizeof(*g);
        if (g->size == size && g->point == point)
            return true;
        at += sizeof(*g) + (size_t)g->width * g->height;
    }
    return false;
}

/* The letter at *text, which moves behind it. */
static struct glyph next_glyph(const struct pixels *p, unsigned int size, const char **text,
                               const unsigned char **cover)
{
    struct glyph g = {0};
    const char *shown;
    uint32_t point;

    utf8_show(text, &shown);
    if (utf8_sequence(shown, &point) > 0 && find_glyph(p, size, point, &g, cover))
        return g;
    return find_glyph(p, size, UNKNOWN, &g, cover) ? g : (struct glyph){0};
}

static double width_of(const struct pixels *p, unsigned int size, const char *text)
{
    const unsigned char *cover = NULL;
    double width = 0;

    while (*text)
        width += next_glyph(p, size, &text, &cover).advance / 64.0;
    return width;
}

static void draw_glyph(struct pixels *p, enum ink ink, const struct glyph *g,
                       const unsigned char *cover, long x, long y)
{
    for (int row = 0; row < g->height; row++)
        for (int i = 0; i < g->width; i++)
            blend(p, x + g->left + i, y - g->top + row, ink, cover[row * g->width + i] / 255.0);
}

static void draw_text(struct canvas *c, enum ink ink, struct canvas_point at, double size,
                      enum canvas_anchor anchor, const char *text)
{
    struct pixels *p = (struct pixels *)c;
    unsigned int pixels = size_of(size);
    double x = at.x * PIXELS_PER_UNIT;
    const unsigned char *cover = NULL;

    x -= width_of(p, pixels, text) * (anchor == CANVAS_RIGHT    ? 1
                                      : anchor == CANVAS_MIDDLE ? 0.5
                                                                : 0);
    while (*text) {
        const struct glyph g = next_glyph(p, pixels, &text, &cover);

        draw_glyph(p, ink, &g, cover, lround(x), lround(at.y * PIXELS_PER_UNIT));
        x += g.advance / 64.0;
    }
}

/* ---- the whole ---- */

void pixels_start(struct pixels *p, double width, double height)
{
    uLongf bytes = glyphs_bytes;

    *p = (struct pixels){
        .canvas = {width, height, draw_box, draw_area, draw_line, draw_rule, draw_dot, draw_text},
        .width = (unsigned int)lround(width * PIXELS_PER_UNIT),
        .height = (unsigned int)lround(height * PIXELS_PER_UNIT)};
    p->rgb = memory_zeroed((size_t)3 * p->width * p->height);
    p->glyphs = memory_resize(NULL, glyphs_bytes);
    if (uncompress(p->glyphs, &bytes, glyphs_packed, glyphs_packed_bytes) != Z_OK)
        memory_give_up();
}

void pixels_free(struct pixels *p)
{
    free(p->glyphs);
    free(p->rgb);
}
#endif
