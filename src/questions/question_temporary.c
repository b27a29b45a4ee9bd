/* question_temporary - blocks that were freed before their thread allocated again (or: few times),
 * by stack. They cost time, not memory. Of a sampled block it is known if its thread allocated at
 * all before its free, but not how often.
 */
#include "base/count.h"
#include "model/heap_counts.h"
#include "model/heap_rows.h"
#include "questions/heap_cells.h"
#include "questions/question.h"

#define ROWS 50

enum {
    BLOCKS,
    PERCENT,
    ERROR_PERCENT,
    BYTES,
    BLOCKS_ALLOCATED,
    TEMPORARY_PERCENT,
    PROCESSES,
    SITE,
    STACK,
};

static const struct table_column columns[] = {
    [BLOCKS] = {"blocks", UNIT_COUNT},
    [PERCENT] = {"percent", UNIT_PERCENT},
    [ERROR_PERCENT] = {"error_percent", UNIT_PERCENT, .detail = true}, /* of blocks */
    [BYTES] = {"bytes", UNIT_BYTES},
    [BLOCKS_ALLOCATED] = {"blocks_allocated", UNIT_COUNT, .detail = true},
    [TEMPORARY_PERCENT] = {"temporary_percent", UNIT_PERCENT},
    [PROCESSES] = {"processes", UNIT_COUNT, .detail = true},
    [SITE] = {"site", UNIT_TEXT},
    [STACK] = {"stack", UNIT_STACK},
};

static uint64_t weight(const struct heap_stack_sum *s)
{
    return s->sums.temporary.milliblocks;
}

static const char *note(const struct heap *h)
{
    unsigned int most = h->options.temporary;

    if (h->temporary_known)
        return arena_printf(
            h->arena, "%s%s%s. Temporary: freed before %u more allocation%s of its thread.",
            h->sampled ? "Sampled" : "Exact", h->run->lacking.more ? " for what was recorded" : "",
            lacking_but(&h->run->lacking, h->arena), most, most == 1 ? "" : "s");
    if (h->exact)
        return "Only the blocks that were recorded exactly are counted.";
    return most == 1 ? "This sampled recording does not know which blocks were temporary: it was "
                       "made by an older version."
                     : "A sampled recording knows which blocks were freed before the next "
                       "allocation (--temporary 1), and no more; record with --exact.";
}

static int run(struct asked *q, struct err *err)
{
    struct answer *a = q->answer;
    struct heap *h = &q->recorded->heap;
    struct table *table = answer_add(a, "temporary", TABLE_ROWS, columns, COUNT(columns));
    const struct heap_row *row;
    struct heap_rows rows;

    (void)err;
    if (heap_begin(h, a, table)) {
        double all = (double)h->sums.temporary.milliblocks;

        heap_rows_stacks(&rows, h, weight, ROWS);
        for (size_t i = 0; (row = heap_rows_at(&rows, i)); i++) {
            const struct heap_stack_sum *s = &row->sum;
            struct table_cell *c = table_add(a, table);

            heap_cell_blocks(&c[BLOCKS], &s->sums.temporary);
            heap_cell_percent(&c[PERCENT], (double)s->sums.temporary.milliblocks, all);
            if (s->sums.temporary.of_blocks > 0)
                heap_cell_blocks_error(&c[ERROR_PERCENT], h, &s->sums.temporary,
                                       heap_row_least(row));
            heap_cell_bytes(&c[BYTES], &s->sums.temporary);
            heap_cell_blocks(&c[BLOCKS_ALLOCATED], &s->sums.allocated);
            heap_cell_percent(&c[TEMPORARY_PERCENT], (double)s->sums.temporary.milliblocks,
                              (double)s->sums.allocated.milliblocks);
            if (h->process_count > 1 && row->stack)
                cell_number(&c[PROCESSES], row->sum.processes);
            heap_cell_site(&c[SITE], h, &rows, row);
            heap_cell_stack(&c[STACK], h, row);
        }
        table->note = note(h);
    }
    return 0;
}

const struct question question_temporary = {
    .name = "temporary",
    .summary = "blocks that were freed almost at once, by stack",
    .group = QUESTION_OF_ALLOCATIONS,
    .reads = RECORDED_HEAP,
    .run = run,
};
