/* sites - every line of code that allocates, with everything that is known of it. */
#include "analyze/heap_rows.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

static const struct table_column columns[] = {
    {"allocated", UNIT_BYTES},
    {"blocks", UNIT_COUNT},
    {"error_percent", UNIT_PERCENT},
    {"at_peak", UNIT_BYTES},
    {"blocks_at_peak", UNIT_COUNT},
    {"alive", UNIT_BYTES},
    {"blocks_alive", UNIT_COUNT},
    {"freed", UNIT_BYTES},
    {"blocks_freed", UNIT_COUNT},
    {"temporary_blocks", UNIT_COUNT},
    {"temporary_percent", UNIT_PERCENT},
    {"smallest", UNIT_BYTES},
    {"largest", UNIT_BYTES},
    {"half_lived_less_than", UNIT_NS},
    {"first", UNIT_NS},
    {"last", UNIT_NS},
    {"stacks", UNIT_COUNT},
    {"site", UNIT_TEXT},
    {"module", UNIT_TEXT},
};

static uint64_t weight(const struct heap_stack *s)
{
    bool held = s->at.milliblocks || s->sums.live.milliblocks || s->sums.allocated.milliblocks;

    return s->sums.allocated.bytes ? s->sums.allocated.bytes : held;
}

/* The end of the class that half of the freed blocks did not reach beyond; false: in no class. */
static bool half_lived(const uint64_t lived[HEAP_LIVED_CLASSES], uint64_t *ns)
{
    uint64_t all = 0, sum = 0;

    for (int i = 0; i < HEAP_LIVED_CLASSES; i++)
        all += lived[i];
    for (int i = 0; all && i < HEAP_LIVED_CLASSES - 1; i++) {
        sum += lived[i];
        if (sum * 2 >= all) {
            *ns = (uint64_t)65536 << i;
            return true;
        }
    }
    return false;
}

static void fill(struct table_cell *c, const struct heap *h, const struct heap_rows *rows,
                 const struct heap_row *row)
{
    const struct heap_sums *s = &row->sum.sums;
    uint64_t ns;

    heap_cell_bytes(&c[0], &s->allocated);
    heap_cell_blocks(&c[1], &s->allocated);
    heap_cell_error(&c[2], &s->allocated);
    heap_cell_bytes(&c[3], &row->sum.at);
    heap_cell_blocks(&c[4], &row->sum.at);
    heap_cell_bytes(&c[5], &s->live);
    heap_cell_blocks(&c[6], &s->live);
    heap_cell_bytes(&c[7], &s->freed);
    heap_cell_blocks(&c[8], &s->freed);
    if (h->temporary_known) {
        heap_cell_blocks(&c[9], &s->temporary);
        heap_cell_percent(&c[10], (double)s->temporary.milliblocks,
                          (double)s->allocated.milliblocks);
    }
    if (row->sum.most) {
        cell_number(&c[11], row->sum.least);
        cell_number(&c[12], row->sum.most);
        cell_number(&c[14], row->sum.first_ns);
        cell_number(&c[15], row->sum.last_ns);
    }
    if (half_lived(row->sum.lived, &ns))
        cell_number(&c[13], ns);
    cell_number(&c[16], row->stacks);
    heap_cell_site(&c[17], h, rows, row);
    cell_text(&c[18], row->site.module);
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    struct table *table = answer_add(a, "sites", TABLE_ROWS, columns, COUNT(columns));
    const struct heap_row *row;
    struct heap_rows rows;
    struct heap h;

    (void)err;
    heap_read(&h, a->arena, t, o, NULL, NULL);
    if (heap_begin(&h, a, table)) {
        heap_rows_sites(&rows, &h, weight, UINT32_MAX);
        for (size_t i = 0; (row = heap_rows_at(&rows, i)); i++)
            fill(table_add(a, table), &h, &rows, row);
        table->note = arena_printf(a->arena, "All allocations together: %s.",
                                   heap_basis(&h, &h.sums.allocated));
    }
    heap_free(&h);
    return 0;
}

const struct question question_sites = {
    .name = "sites",
    .summary = "every line of code that allocates, with all that is known of it",
    .run = run,
};
