/* question_histogram - allocations by size, in classes of powers of two, and by the time that they
 * lived. */
#include "base/count.h"
#include "base/text.h"
#include "model/heap_counts.h"
#include "model/heap_rows.h"
#include "questions/heap_cells.h"
#include "questions/question.h"

enum {
    SIZE_FROM,
    SIZE_TO,
    SIZE_BLOCKS,
    SIZE_PERCENT,
    SIZE_BYTES,
    SIZE_ERROR_PERCENT,
    SIZE_AT_PEAK,
    SIZE_ALIVE,
    SIZE_TEMPORARY_BLOCKS,
    SIZE_MOST_BY,
    SIZE_BLOCKS_ERROR_PERCENT,
};

static const struct table_column size_columns[] = {
    [SIZE_FROM] = {"from", UNIT_BYTES},
    [SIZE_TO] = {"to", UNIT_BYTES},
    [SIZE_BLOCKS] = {"blocks", UNIT_COUNT},
    [SIZE_PERCENT] = {"percent", UNIT_PERCENT},
    [SIZE_BYTES] = {"bytes", UNIT_BYTES},
    [SIZE_ERROR_PERCENT] = {"error_percent", UNIT_PERCENT, .detail = true},
    [SIZE_AT_PEAK] = {"at_peak", UNIT_BYTES},
    [SIZE_ALIVE] = {"alive", UNIT_BYTES, .detail = true},
    [SIZE_TEMPORARY_BLOCKS] = {"temporary_blocks", UNIT_COUNT, .detail = true},
    [SIZE_MOST_BY] = {"most_by", UNIT_TEXT},
    [SIZE_BLOCKS_ERROR_PERCENT] = {"blocks_error_percent", UNIT_PERCENT, .detail = true},
};

enum { LIVED_FROM, LIVED_TO, LIVED_BLOCKS, LIVED_PERCENT, LIVED_TEXT };

static const struct table_column lived_columns[] = {
    [LIVED_FROM] = {"from", UNIT_NS},        [LIVED_TO] = {"to", UNIT_NS},
    [LIVED_BLOCKS] = {"blocks", UNIT_COUNT}, [LIVED_PERCENT] = {"percent", UNIT_PERCENT},
    [LIVED_TEXT] = {"lived", UNIT_TEXT},
};

static void fill_size(struct table_cell *c, const struct heap *h, int class)
{
    const struct heap_size *s = &h->sizes[class];
    struct table_frame site;

    cell_number(&c[SIZE_FROM], class ? (uint64_t)1 << (class - 1) : 0);
    cell_number(&c[SIZE_TO], class == 64 ? UINT64_MAX : ((uint64_t)1 << class) - 1);
    heap_cell_blocks(&c[SIZE_BLOCKS], &s->sums.allocated);
    heap_cell_percent(&c[SIZE_PERCENT], (double)s->sums.allocated.milliblocks,
                      (double)h->sums.allocated.milliblocks);
    heap_cell_bytes(&c[SIZE_BYTES], &s->sums.allocated);
    heap_cell_error(&c[SIZE_ERROR_PERCENT], &s->sums.allocated);
    heap_cell_bytes(&c[SIZE_AT_PEAK], &s->at);
    heap_cell_bytes(&c[SIZE_ALIVE], &s->sums.live);
    if (h->temporary_known)
        heap_cell_blocks(&c[SIZE_TEMPORARY_BLOCKS], &s->sums.temporary);
    heap_cell_blocks_error(&c[SIZE_BLOCKS_ERROR_PERCENT], h, &s->sums.allocated,
                           class ? (uint64_t)1 << (class - 1) : 0);
    if (!s->stack)
        return;
    site = frames_site(h->frames, s->stack);
    cell_text(&c[SIZE_MOST_BY], table_frame_text(h->arena, &site));
}

/* The longest tick of an exact recording, whose events have no finer time; 0: it has none. */
static uint64_t tick_of(const struct heap *h)
{
    const char *text = h->exact ? names_find(h->run->names, TRACE_OF_RUN, FACT_LONGEST_TICK) : NULL;
    uint64_t tick = 0;

    return text && text_parse_number(text, &tick) ? tick : 0;
}

/* What died in the tick that it was born in has lived for less than that, more is not known. */
static void fill_lived(struct table_cell *c, const struct heap *h, int class, uint64_t tick_ns)
{
    uint64_t from = class ? (uint64_t)65536 << (class - 1) : 0, to = (uint64_t)65536 << class;
    char low[TEXT_SIZE], high[TEXT_SIZE];
    struct arena *a = h->arena;

    cell_number(&c[LIVED_FROM], from);
    if (class == 0 && h->exact) {
        to = tick_ns > to ? tick_ns : to;
        if (tick_ns)
            cell_number(&c[LIVED_TO], to);
        cell_text(&c[LIVED_TEXT],
                  tick_ns ? arena_printf(a, "within one tick (< %s)", text_duration(high, to))
                          : "within one tick");
    } else if (class == HEAP_LIVED_CLASSES - 1) {
        cell_text(&c[LIVED_TEXT], arena_printf(a, "%s and more", text_duration(low, from)));
    } else {
        cell_number(&c[LIVED_TO], to);
        cell_text(&c[LIVED_TEXT],
                  arena_printf(a, "%s to %s", text_duration(low, from), text_duration(high, to)));
    }
}

static const char *note_on_lives(struct arena *a, const struct heap *h, uint64_t tick_ns)
{
    const char *note = "Of blocks that were freed; those that were not have no lifetime.";
    char tick[TEXT_SIZE];

    if (!h->exact)
        return note;
    return arena_printf(a, "%s Times are known to a tick of %s%s.", note,
                        tick_ns ? "at most " : "some milliseconds",
                        tick_ns ? text_duration(tick, tick_ns) : "");
}

static void add_lived(struct answer *a, const struct heap *h)
{
    struct table *t = answer_add(a, "lifetimes", TABLE_ROWS, lived_columns, COUNT(lived_columns));
    uint64_t all = 0, tick_ns = tick_of(h);

    for (int i = 0; i < HEAP_LIVED_CLASSES; i++)
        all += h->lived[i];
    for (int i = 0; i < HEAP_LIVED_CLASSES; i++) {
        struct table_cell *c;

        if (!h->lived[i])
            continue;
        c = table_add(a, t);
        fill_lived(c, h, i, tick_ns);
        cell_number(&c[LIVED_BLOCKS], (h->lived[i] + 500) / 1000);
        heap_cell_percent(&c[LIVED_PERCENT], (double)h->lived[i], (double)all);
    }
    if (all)
        t->note = note_on_lives(a->arena, h, tick_ns);
}

static void again(struct asked *q)
{
    heap_want(&q->recorded->heap, HEAP_AT_PEAK, 0);
}

static int run(struct asked *q, struct err *err)
{
    struct answer *a = q->answer;
    struct heap *h = &q->recorded->heap;
    struct table *table = answer_add(a, "sizes", TABLE_ROWS, size_columns, COUNT(size_columns));

    (void)err;
    if (heap_begin(h, a, table)) {
        heap_at(h, HEAP_AT_PEAK, 0);
        for (int i = 0; i < HEAP_SIZE_CLASSES; i++)
            if (h->sizes[i].sums.allocated.milliblocks || h->sizes[i].at.milliblocks ||
                h->sizes[i].sums.live.milliblocks)
                fill_size(table_add(a, table), h, i);
        table->note = arena_printf(a->arena, "All allocations together: %s.",
                                   heap_basis(h, &h->sums.allocated));
        add_lived(a, h);
    }
    return 0;
}

const struct question question_histogram = {
    .name = "histogram",
    .summary = "allocations by size, and by how long they lived",
    .group = QUESTION_OF_ALLOCATIONS,
    .reads = RECORDED_HEAP,
    .again = again,
    .run = run,
};
