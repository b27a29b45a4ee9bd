/* format_svg - memory over time as one SVG file, for READMEs and comments: no script, nothing is
 * loaded, and its colours follow the reader's day or night. See plot.h.
 */
#include "base/utf8.h"
#include "report/formats.h"
#include "report/plot.h"

struct svg {
    struct canvas canvas;
    FILE *out;
};

static FILE *out_of(struct canvas *c)
{
    return ((struct svg *)c)->out; /* its first member */
}

/* The class of an ink. */
static const char *name_of(enum ink ink)
{
    static const char *const names[] = {
#define X(name, day, night) #name,
        INKS(X)
#undef X
    };

    return names[ink];
}

/* What XML allows, and nothing of it as markup. */
static void put_text(const char *text, FILE *out)
{
    const char *shown;

    while (*text) {
        int bytes = utf8_show(&text, &shown);

        if (bytes == 1 && (*shown == '&' || *shown == '<' || *shown == '>' || *shown == '"'))
            fprintf(out, "&#%d;", *shown);
        else
            fprintf(out, "%.*s", bytes, shown);
    }
}

static void put_box(struct canvas *c, enum ink ink, double x, double y, double width, double height)
{
    fprintf(out_of(c),
            "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
            name_of(ink), x, y, width, height);
}

static void put_points(const struct canvas_point *points, int count, FILE *out)
{
    for (int i = 0; i < count; i++)
        if (i && points[i].y == points[i - 1].y)
            fprintf(out, "H%.1f", points[i].x);
        else if (i && points[i].x == points[i - 1].x)
            fprintf(out, "V%.1f", points[i].y);
        else
            fprintf(out, "%c%.1f %.1f", i ? 'L' : 'M', points[i].x, points[i].y);
}

static void put_line(struct canvas *c, enum ink ink, const struct canvas_point *points, int count)
{
    fprintf(out_of(c), "<path class=\"%s curve\" d=\"", name_of(ink));
    put_points(points, count, out_of(c));
    fputs("\"/>\n", out_of(c));
}

static void put_area(struct canvas *c, enum ink ink, const struct canvas_point *points, int count)
{
    fprintf(out_of(c), "<path class=\"%s area\" d=\"", name_of(ink));
    put_points(points, count, out_of(c));
    fputs("Z\"/>\n", out_of(c));
    put_line(c, ink, points, count - 2);
}

static void put_rule(struct canvas *c, enum ink ink, struct canvas_point from,
                     struct canvas_point to)
{
    const struct canvas_point both[] = {from, to};

    fprintf(out_of(c), "<path class=\"%s rule\" d=\"", name_of(ink));
    put_points(both, 2, out_of(c));
    fputs("\"/>\n", out_of(c));
}

static void put_dot(struct canvas *c, enum ink ink, struct canvas_point at)
{
    fprintf(out_of(c), "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"/>\n", name_of(ink),
            at.x, at.y);
}

static void put_words(struct canvas *c, enum ink ink, struct canvas_point at, double size,
                      enum canvas_anchor anchor, const char *text)
{
    static const char *const anchors[] = {"start", "middle", "end"};

    fprintf(out_of(c),
            "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" font-size=\"%g\" text-anchor=\"%s\">",
            name_of(ink), at.x, at.y, size, anchors[anchor]);
    put_text(text, out_of(c));
    fputs("</text>\n", out_of(c));
}

/* Each ink is a colour to fill with; lines are drawn in it instead. */
static void put_inks(bool night, FILE *out)
{
    static const unsigned int colours[][2] = {
#define X(name, day, night) {day, night},
        INKS(X)
#undef X
    };

    for (int i = 0; i < INK_COUNT; i++)
        fprintf(out, ".%s { fill: #%06x; color: #%06x }\n", name_of((enum ink)i), colours[i][night],
                colours[i][night]);
}

static void put_style(FILE *out)
{
    fputs("<style>\ntext { font-family: system-ui, 'DejaVu Sans', Arial, sans-serif }\n", out);
    put_inks(false, out);
    fputs("path.curve, path.rule { fill: none; stroke: currentColor }\n"
          ".curve { stroke-width: 1.4 }\n.area { fill-opacity: .3 }\n"
          "@media (prefers-color-scheme: dark) {\n",
          out);
    put_inks(true, out);
    fputs("}\n</style>\n", out);
}

static void write_svg(const struct answer *a, FILE *out)
{
    struct svg s = {.canvas = {PLOT_WIDTH, plot_height(a), put_box, put_area, put_line, put_rule,
                               put_dot, put_words},
                    .out = out};

    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" role=\"img\">\n"
            "<title>",
            PLOT_WIDTH, s.canvas.height);
    put_text(plot_title(a), out);
    fputs("</title>\n", out);
    put_style(out);
    plot_draw(a, &s.canvas);
    fputs("</svg>\n", out);
}

const struct format format_svg = {
    .name = "svg",
    .summary = "a picture of memory over time with regions, marks and the peak",
    .question = "curve",
    .asks = plot_asks,
    .write = write_svg,
};
