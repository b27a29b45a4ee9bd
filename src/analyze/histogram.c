/* histogram - allocations by size, in classes of powers of two, and by the time that they lived. */
#include "analyze/heap_rows.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

static const struct table_column size_columns[] = {
    {"from", UNIT_BYTES},      {"to", UNIT_BYTES},    {"blocks", UNIT_COUNT},
    {"percent", UNIT_PERCENT}, {"bytes", UNIT_BYTES}, {"error_percent", UNIT_PERCENT},
    {"at_peak", UNIT_BYTES},   {"alive", UNIT_BYTES}, {"temporary_blocks", UNIT_COUNT},
    {"most_by", UNIT_TEXT},
};

static const struct table_column lived_columns[] = {
    {"from", UNIT_NS},
    {"to", UNIT_NS},
    {"blocks", UNIT_COUNT},
    {"percent", UNIT_PERCENT},
};

static void fill_size(struct table_cell *c, const struct heap *h, int class)
{
    const struct heap_size *s = &h->sizes[class];
    struct table_frame site;

    cell_number(&c[0], class ? (uint64_t)1 << (class - 1) : 0);
    cell_number(&c[1], class == 64 ? UINT64_MAX : ((uint64_t)1 << class) - 1);
    heap_cell_blocks(&c[2], &s->sums.allocated);
    heap_cell_percent(&c[3], (double)s->sums.allocated.milliblocks,
                      (double)h->sums.allocated.milliblocks);
    heap_cell_bytes(&c[4], &s->sums.allocated);
    heap_cell_error(&c[5], &s->sums.allocated);
    heap_cell_bytes(&c[6], &s->at);
    heap_cell_bytes(&c[7], &s->sums.live);
    if (h->temporary_known)
        heap_cell_blocks(&c[8], &s->sums.temporary);
    if (!s->stack)
        return;
    site = frames_site(&h->frames, s->stack);
    cell_text(&c[9], table_frame_text(h->run.names.arena, &site));
}

static void add_lived(struct answer *a, const struct heap *h)
{
    struct table *t = answer_add(a, "lifetimes", TABLE_ROWS, lived_columns, COUNT(lived_columns));
    uint64_t all = 0;

    for (int i = 0; i < HEAP_LIVED_CLASSES; i++)
        all += h->lived[i];
    for (int i = 0; i < HEAP_LIVED_CLASSES; i++) {
        struct table_cell *c;

        if (!h->lived[i])
            continue;
        c = table_add(a, t);
        cell_number(&c[0], i ? (uint64_t)65536 << (i - 1) : 0);
        if (i < HEAP_LIVED_CLASSES - 1)
            cell_number(&c[1], (uint64_t)65536 << i);
        cell_number(&c[2], (h->lived[i] + 500) / 1000);
        heap_cell_percent(&c[3], (double)h->lived[i], (double)all);
    }
    if (all)
        t->note = "Of blocks that were freed; those that were not have no lifetime.";
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    struct table *table = answer_add(a, "sizes", TABLE_ROWS, size_columns, COUNT(size_columns));
    struct heap h;

    (void)err;
    heap_read(&h, a->arena, t, o, NULL, NULL);
    if (heap_begin(&h, a, table)) {
        for (int i = 0; i < HEAP_SIZE_CLASSES; i++)
            if (h.sizes[i].sums.allocated.milliblocks || h.sizes[i].at.milliblocks ||
                h.sizes[i].sums.live.milliblocks)
                fill_size(table_add(a, table), &h, i);
        table->note = arena_printf(a->arena, "All allocations together: %s.",
                                   heap_basis(&h, &h.sums.allocated));
        add_lived(a, &h);
    }
    heap_free(&h);
    return 0;
}

const struct question question_histogram = {
    .name = "histogram",
    .summary = "allocations by size, and by how long they lived",
    .run = run,
};
