/* plot - see plot.h. */
#include "report/plot.h"

#include "base/hash.h"
#include "base/text.h"
#include "report/named.h"
#include "report/plot_panel.h"

#include <math.h>
#include <string.h>

#define LEFT 78.0
#define RIGHT 16.0
#define HEAD 62.0 /* title and sentence */
#define LANE 19.0 /* of regions, by how deep they are */
#define LANES_MOST 4
#define MEMORY 240.0
#define SMALLER 84.0
#define GAP 34.0
#define FOOT 30.0
#define TEXT 13.0
#define SPANS_MOST 400
#define MARKS_MOST 100

const char *const plot_asks[] = {"curve", "timeline", "regions", "steps", "summary", NULL};

struct plot {
    const struct answer *answer;
    struct canvas *canvas;
    const struct table *curve, *timeline, *spans, *marks, *facts;
    double from_ns, to_ns;
    int lanes;
    bool rss, cpu, io;
};

/* ---- what there is ---- */

static double fact(const struct plot *p, const char *name)
{
    return named_value(table_find_fact(p->facts, name));
}

/* How deep a span is: those before it, of the same thread, that have not ended. */
static int depth_of(const struct table *t, int row)
{
    double from = named_number(t, row, "from"), tid = named_number(t, row, "tid");
    int depth = 0;

    for (int i = row - 1; i >= 0 && row - i < SPANS_MOST; i--) {
        double end = named_number(t, i, "from") + named_number(t, i, "length");

        depth += named_number(t, i, "tid") == tid && (!named_cell(t, i, "length") || end > from);
    }
    return depth;
}

static int count_lanes(const struct table *spans)
{
    int lanes = 0;

    for (int row = 0; row < spans->rows && row < SPANS_MOST; row++) {
        int depth = depth_of(spans, row) + 1;

        lanes = depth > lanes ? depth : lanes;
    }
    return lanes < LANES_MOST ? lanes : LANES_MOST;
}

static void find_range(struct plot *p)
{
    const struct table *t = p->curve->rows ? p->curve : p->timeline;

    p->from_ns = t->rows ? named_number(t, 0, "time") : 0;
    p->to_ns = t->rows ? named_number(t, t->rows - 1, "time") : 0;
    if (p->timeline->rows)
        p->to_ns = fmax(p->to_ns, named_number(p->timeline, p->timeline->rows - 1, "time"));
    if (!p->answer->asked) { /* all of the run */
        p->from_ns = 0;
        p->to_ns = fmax(p->to_ns, fact(p, "duration"));
    }
}

static struct plot read_plot(const struct answer *a)
{
    struct plot p = {.answer = a,
                     .curve = named_table(a, "curve"),
                     .timeline = named_table(a, "timeline"),
                     .spans = named_table(a, "spans"),
                     .marks = named_table(a, "marks"),
                     .facts = named_table(a, "facts")};

    find_range(&p);
    p.lanes = count_lanes(p.spans);
    p.rss = p.timeline->rows > (p.curve->rows ? 1 : 0); /* one sample says little of the whole */
    p.cpu = p.timeline->rows > 1 && panel_most(p.timeline, "cpu_percent") > 0;
    p.io = p.timeline->rows > 1 && (panel_most_rate(p.timeline, "read_bytes") > 0 ||
                                    panel_most_rate(p.timeline, "write_bytes") > 0);
    return p;
}

static double height_of(const struct plot *p)
{
    return HEAD + p->lanes * LANE + GAP + MEMORY + (p->cpu + p->io) * (GAP + SMALLER) + FOOT;
}

double plot_height(const struct answer *a)
{
    struct plot p = read_plot(a);

    return height_of(&p);
}

/* ---- words ---- */

static const char *heap_words(const struct plot *p)
{
    const struct table_cell *peak = table_find_fact(p->facts, "peak_heap");
    const struct table_cell *basis = table_find_fact(p->facts, "peak_heap_basis");
    char size[TEXT_SIZE], when[TEXT_SIZE];

    if (!peak || !p->curve->rows)
        return "";
    text_duration(when, (uint64_t)fact(p, "peak_heap_time"));
    return arena_printf(p->answer->arena, "heap peak %s%s at %s", text_size(size, peak->number),
                        basis && strncmp(basis->text, "exact", 5) == 0 ? "" : " (estimated)", when);
}

static const char *rss_words(const struct plot *p)
{
    const struct table_cell *least = table_find_fact(p->facts, "peak_rss_at_least");
    const struct table_cell *most = table_find_fact(p->facts, "peak_rss_at_most");
    char size[TEXT_SIZE];

    if (!least)
        return "";
    return arena_printf(p->answer->arena, "resident %s%s", text_size(size, least->number),
                        most && most->number == least->number ? "" : " or more");
}

/* "heap peak 3.6 MiB at 71 ms, resident 15.4 MiB, ran 77 ms". */
static const char *sentence(const struct plot *p)
{
    const char *heap = heap_words(p), *rss = rss_words(p);
    char ran[TEXT_SIZE];

    text_duration(ran, (uint64_t)fact(p, "duration"));
    return arena_printf(p->answer->arena, "%s%s%s%sran %s", heap, *heap ? ", " : "", rss,
                        *rss ? ", " : "", ran);
}

static const char *command_of(const struct plot *p)
{
    const struct table_cell *command = table_find_fact(p->facts, "command");

    return command ? command->text : p->answer->trace ? p->answer->trace : "a recording";
}

const char *plot_title(const struct answer *a)
{
    struct plot p = read_plot(a);

    return arena_printf(a->arena, "Memory over time of %s: %s", command_of(&p), sentence(&p));
}

static void draw_head(const struct plot *p)
{
    struct arena *arena = p->answer->arena;
    double room = PLOT_WIDTH - LEFT - RIGHT;

    p->canvas->box(p->canvas, INK_PAPER, 0, 0, p->canvas->width, p->canvas->height);
    p->canvas->text(p->canvas, INK_WORDS, (struct canvas_point){LEFT, 27}, 17, CANVAS_LEFT,
                    panel_fit(arena, command_of(p), 17, room));
    p->canvas->text(p->canvas, INK_FAINT, (struct canvas_point){LEFT, 48}, 14, CANVAS_LEFT,
                    panel_fit(arena, sentence(p), 14, room));
}

/* ---- regions and marks ---- */

static enum ink ink_of(const char *name)
{
    return (enum ink)(INK_REGION_A + hash_bytes(HASH_START, name, strlen(name)) % 4);
}

static void draw_span(const struct plot *p, const struct panel *memory, int row)
{
    double from = named_number(p->spans, row, "from");
    bool ended = named_cell(p->spans, row, "length");
    double to = ended ? from + named_number(p->spans, row, "length") : p->to_ns;
    double left = panel_x(memory, from), right = panel_x(memory, to);
    int depth = depth_of(p->spans, row);
    const char *name = named_text(p->spans, row, "region");

    if (depth >= p->lanes || from > p->to_ns || to < p->from_ns)
        return;
    p->canvas->box(p->canvas, ink_of(name), left, HEAD + depth * LANE, fmax(right - left - 1, 1),
                   LANE - 3);
    if (right - left > 26)
        p->canvas->text(
            p->canvas, INK_WORDS, (struct canvas_point){left + 5, HEAD + depth * LANE + 12.5},
            TEXT - 1, CANVAS_LEFT, panel_fit(p->answer->arena, name, TEXT - 1, right - left - 10));
}

static void draw_spans(const struct plot *p, const struct panel *memory)
{
    for (int row = 0; row < p->spans->rows && row < SPANS_MOST; row++)
        draw_span(p, memory, row);
}

/* What a program named; steps, of which there may be thousands, are no marks here. */
static bool is_mark(const struct plot *p, int row)
{
    double ns = named_number(p->marks, row, "time");

    return strcmp(named_text(p->marks, row, "kind"), "step") != 0 && ns >= p->from_ns &&
           ns <= p->to_ns;
}

static void draw_marks(const struct plot *p, const struct panel *memory, double bottom)
{
    double free_from = 0;

    for (int row = 0, drawn = 0; row < p->marks->rows && drawn < MARKS_MOST; row++) {
        const char *name = named_text(p->marks, row, "name");
        double x = panel_x(memory, named_number(p->marks, row, "time"));

        if (!is_mark(p, row))
            continue;
        p->canvas->rule(p->canvas, INK_FAINT, (struct canvas_point){x, memory->top},
                        (struct canvas_point){x, bottom});
        drawn++;
        if (x < free_from)
            continue;
        name = panel_fit(p->answer->arena, name, TEXT - 1, PLOT_WIDTH - RIGHT - x - 4);
        p->canvas->text(p->canvas, INK_FAINT, (struct canvas_point){x + 4, memory->top + 11},
                        TEXT - 1, CANVAS_LEFT, name);
        free_from = x + panel_text_width(name, TEXT - 1) + 10;
    }
}

/* ---- charts ---- */

static struct panel make_panel(const struct plot *p, double top, double height, double most,
                               enum table_unit unit)
{
    return (struct panel){.canvas = p->canvas,
                          .left = LEFT,
                          .right = PLOT_WIDTH - RIGHT,
                          .top = top,
                          .bottom = top + height,
                          .from_ns = p->from_ns,
                          .to_ns = p->to_ns,
                          .most = most > 0 ? most * 1.12 : 1,
                          .unit = unit};
}

static struct panel memory_panel(const struct plot *p)
{
    double most = fmax(p->rss ? panel_most(p->timeline, "rss") : 0,
                       panel_most(p->curve, "heap_most"));

    most = fmax(most, fact(p, p->curve->rows ? "peak_heap" : "peak_rss_at_least"));
    for (int row = 0; row < p->marks->rows; row++)
        if (is_mark(p, row)) { /* whose names stand above what the peak says of itself */
            most *= 1.1;
            break;
        }
    return make_panel(p, HEAD + p->lanes * LANE + GAP, MEMORY, most, UNIT_BYTES);
}

/* When the samples of a run without allocations were largest. */
static double peak_sample_ns(const struct table *t)
{
    double most = panel_most(t, "rss");

    for (int row = 0; row < t->rows; row++)
        if (named_number(t, row, "rss") == most)
            return named_number(t, row, "time");
    return -1;
}

/* Of the heap; where no allocation was recorded, of resident memory. */
static void draw_peak(const struct plot *p, const struct panel *m)
{
    bool heap = p->curve->rows;
    double ns = heap ? fact(p, "peak_heap_time") : peak_sample_ns(p->timeline);
    const struct table_cell *peak = table_find_fact(p->facts,
                                                    heap ? "peak_heap" : "peak_rss_at_least");
    struct canvas_point at;
    char size[TEXT_SIZE];
    double room = panel_text_width("peak 999.9 MiB", TEXT) / 2;

    if (!peak || ns < p->from_ns || ns > p->to_ns)
        return;
    at = (struct canvas_point){panel_x(m, ns), panel_y(m, (double)peak->number)};
    p->canvas->dot(p->canvas, INK_PEAK, at);
    at.x = fmin(fmax(at.x, m->left + room), m->right - room); /* of its words */
    p->canvas->text(p->canvas, INK_PEAK, (struct canvas_point){at.x, at.y - 8}, TEXT, CANVAS_MIDDLE,
                    arena_printf(p->answer->arena, "peak %s", text_size(size, peak->number)));
}

static void draw_memory(const struct plot *p, const struct panel *m)
{
    double x = m->right;

    panel_scale(m, "memory");
    if (p->rss)
        panel_draw(m, INK_RSS, PANEL_AREA, p->timeline, "rss");
    panel_draw(m, INK_HEAP, PANEL_AREA, p->curve, "heap_most");
    if (p->curve->rows)
        panel_legend(m, INK_HEAP, "live heap", &x);
    if (p->rss)
        panel_legend(m, INK_RSS, "resident (RSS), all processes", &x);
    if (!p->curve->rows && !p->timeline->rows)
        p->canvas->text(p->canvas, INK_FAINT,
                        (struct canvas_point){PLOT_WIDTH / 2.0, (m->top + m->bottom) / 2}, 15,
                        CANVAS_MIDDLE, "The trace holds no sample and no allocation.");
}

static struct panel draw_cpu(const struct plot *p, double top)
{
    struct panel cpu = make_panel(p, top, SMALLER, panel_most(p->timeline, "cpu_percent"),
                                  UNIT_PERCENT);
    double x = cpu.right;

    panel_scale(&cpu, "CPU, 100 % is one core");
    panel_draw(&cpu, INK_CPU, PANEL_SINCE, p->timeline, "cpu_percent");
    panel_legend(&cpu, INK_CPU, "CPU", &x);
    return cpu;
}

static struct panel draw_io(const struct plot *p, double top)
{
    double most = fmax(panel_most_rate(p->timeline, "read_bytes"),
                       panel_most_rate(p->timeline, "write_bytes"));
    struct panel io = make_panel(p, top, SMALLER, most, UNIT_BYTES);
    double x = io.right;

    panel_scale(&io, "disk, per second");
    panel_draw(&io, INK_READ, PANEL_RATE, p->timeline, "read_bytes");
    panel_draw(&io, INK_WRITE, PANEL_RATE, p->timeline, "write_bytes");
    panel_legend(&io, INK_WRITE, "written", &x);
    panel_legend(&io, INK_READ, "read", &x);
    return io;
}

void plot_draw(const struct answer *a, struct canvas *c)
{
    struct plot p = read_plot(a);
    struct panel memory, last;

    p.canvas = c;
    last = memory = memory_panel(&p);
    draw_head(&p);
    draw_memory(&p, &memory);
    if (p.cpu)
        last = draw_cpu(&p, last.bottom + GAP);
    if (p.io)
        last = draw_io(&p, last.bottom + GAP);
    draw_spans(&p, &memory);
    draw_marks(&p, &memory, last.bottom);
    draw_peak(&p, &memory);
    panel_times(&last);
}
