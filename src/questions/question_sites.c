/* question_sites - every line of code that allocates, with everything that is known of it. */
#include "base/count.h"
#include "model/heap_rows.h"
#include "questions/heap_cells.h"
#include "questions/question.h"

enum {
    ALLOCATED,
    BLOCKS,
    ERROR_PERCENT,
    AT_PEAK,
    BLOCKS_AT_PEAK,
    AT_PEAK_ERROR_PERCENT,
    MAPPED_AT_PEAK,
    ALIVE,
    BLOCKS_ALIVE,
    FREED,
    BLOCKS_FREED,
    TEMPORARY_BLOCKS,
    TEMPORARY_PERCENT,
    SMALLEST,
    LARGEST,
    HALF_LIVED_LESS_THAN,
    FIRST,
    LAST,
    STACKS,
    SITE,
    MODULE,
};

static const struct table_column columns[] = {
    [ALLOCATED] = {"allocated", UNIT_BYTES},
    [BLOCKS] = {"blocks", UNIT_COUNT},
    [ERROR_PERCENT] = {"error_percent", UNIT_PERCENT},
    [AT_PEAK] = {"at_peak", UNIT_BYTES},
    [BLOCKS_AT_PEAK] = {"blocks_at_peak", UNIT_COUNT, .detail = true},
    [AT_PEAK_ERROR_PERCENT] = {"at_peak_error_percent", UNIT_PERCENT},
    [MAPPED_AT_PEAK] = {"mapped_at_peak", UNIT_BYTES, .detail = true}, /* a part of at_peak */
    [ALIVE] = {"alive", UNIT_BYTES},
    [BLOCKS_ALIVE] = {"blocks_alive", UNIT_COUNT, .detail = true},
    [FREED] = {"freed", UNIT_BYTES, .detail = true},
    [BLOCKS_FREED] = {"blocks_freed", UNIT_COUNT, .detail = true},
    [TEMPORARY_BLOCKS] = {"temporary_blocks", UNIT_COUNT, .detail = true},
    [TEMPORARY_PERCENT] = {"temporary_percent", UNIT_PERCENT, .detail = true},
    [SMALLEST] = {"smallest", UNIT_BYTES, .detail = true},
    [LARGEST] = {"largest", UNIT_BYTES, .detail = true},
    [HALF_LIVED_LESS_THAN] = {"half_lived_less_than", UNIT_NS, .detail = true},
    [FIRST] = {"first", UNIT_NS, .detail = true},
    [LAST] = {"last", UNIT_NS, .detail = true},
    [STACKS] = {"stacks", UNIT_COUNT, .detail = true},
    [SITE] = {"site", UNIT_TEXT},
    [MODULE] = {"module", UNIT_TEXT, .detail = true},
};

static uint64_t weight(const struct heap_stack_sum *s)
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
    const struct heap_amount *allocated = &row->sum.sums.allocated;
    const struct heap_life *l = row->life;
    uint64_t ns;

    heap_cell_bytes(&c[ALLOCATED], allocated);
    heap_cell_blocks(&c[BLOCKS], allocated);
    heap_cell_error(&c[ERROR_PERCENT], allocated);
    heap_cell_bytes(&c[AT_PEAK], &row->sum.at);
    heap_cell_blocks(&c[BLOCKS_AT_PEAK], &row->sum.at);
    heap_cell_error(&c[AT_PEAK_ERROR_PERCENT], &row->sum.at);
    heap_cell_mapped(&c[MAPPED_AT_PEAK], h, row);
    heap_cell_bytes(&c[ALIVE], &row->sum.sums.live);
    heap_cell_blocks(&c[BLOCKS_ALIVE], &row->sum.sums.live);
    heap_cell_bytes(&c[FREED], &l->freed);
    heap_cell_blocks(&c[BLOCKS_FREED], &l->freed);
    if (h->temporary_known) {
        heap_cell_blocks(&c[TEMPORARY_BLOCKS], &row->sum.sums.temporary);
        heap_cell_percent(&c[TEMPORARY_PERCENT], (double)row->sum.sums.temporary.milliblocks,
                          (double)allocated->milliblocks);
    }
    if (row->sum.seen.any) {
        cell_number(&c[SMALLEST], row->sum.seen.least);
        cell_number(&c[LARGEST], row->sum.seen.most);
        cell_number(&c[FIRST], row->sum.seen.first_ns);
        cell_number(&c[LAST], row->sum.seen.last_ns);
    }
    if (half_lived(l->lived, &ns))
        cell_number(&c[HALF_LIVED_LESS_THAN], ns);
    cell_number(&c[STACKS], row->stacks);
    heap_cell_site(&c[SITE], h, rows, row);
    cell_text(&c[MODULE], row->site.module);
}

static void again(struct asked *q)
{
    heap_want(&q->recorded->heap, HEAP_AT_PEAK, 0);
}

static int run(struct asked *q, struct err *err)
{
    struct answer *a = q->answer;
    struct heap *h = &q->recorded->heap;
    struct table *table = answer_add(a, "sites", TABLE_ROWS, columns, COUNT(columns));
    const struct heap_row *row;
    struct heap_rows rows;

    (void)err;
    if (heap_begin(h, a, table)) {
        heap_at(h, HEAP_AT_PEAK, 0);
        heap_rows_sites_lived(&rows, h, weight, UINT32_MAX);
        for (size_t i = 0; (row = heap_rows_at(&rows, i)); i++)
            fill(table_add(a, table), h, &rows, row);
        table->note = arena_printf(a->arena, "All allocations together: %s.",
                                   heap_basis(h, &h->sums.allocated));
    }
    return 0;
}

const struct question question_sites = {
    .name = "sites",
    .summary = "every line of code that allocates, with all that is known of it",
    .group = QUESTION_OF_ALLOCATIONS,
    .reads = RECORDED_HEAP | RECORDED_LIVED | RECORDED_SEEN,
    .again = again,
    .run = run,
};
