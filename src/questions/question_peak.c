/* question_peak - who held memory when most of it was held, or at another moment that is asked for.
 * The rows add up to the whole.
 */
#include "base/count.h"
#include "model/covered.h"
#include "model/heap_rows.h"
#include "questions/heap_cells.h"
#include "questions/question.h"

#define ROWS 50

enum { BYTES, PERCENT, BLOCKS, ERROR_PERCENT, MAPPED, PROCESSES, SITE, STACK };

static const struct table_column columns[] = {
    [BYTES] = {"bytes", UNIT_BYTES},
    [PERCENT] = {"percent", UNIT_PERCENT},
    [BLOCKS] = {"blocks", UNIT_COUNT},
    [ERROR_PERCENT] = {"error_percent", UNIT_PERCENT},
    [MAPPED] = {"mapped", UNIT_BYTES, .detail = true}, /* of the bytes */
    [PROCESSES] = {"processes", UNIT_COUNT, .detail = true},
    [SITE] = {"site", UNIT_TEXT},
    [STACK] = {"stack", UNIT_STACK},
};

static uint64_t weight(const struct heap_stack_sum *s)
{
    return s->at.bytes;
}

static void add_facts(struct answer *a, struct table *facts, const struct heap *h,
                      const struct heap_amount *sum)
{
    bool peak = h->options.at == SELECTION_AT_DEFAULT || h->options.at == SELECTION_AT_PEAK;
    uint64_t time_ns = peak                               ? h->peak_ns
                     : h->options.at == SELECTION_AT_TIME ? h->options.at_ns
                                                          : h->to_ns;

    heap_cell_bytes(table_fact(a, facts, peak ? "peak_heap" : "live_heap", UNIT_BYTES), sum);
    heap_cells_memory(a, facts, h, peak ? "peak_heap" : "live_heap", h->at_memory);
    cell_text(table_fact(a, facts, "basis", UNIT_TEXT),
              peak ? heap_peak_basis(h) : heap_basis(h, sum));
    heap_cell_blocks(table_fact(a, facts, "blocks", UNIT_COUNT), sum);
    cell_number(table_fact(a, facts, "time", UNIT_NS), time_ns);
    if (covered_since(h->run))
        cell_text(table_fact(a, facts, "since", UNIT_TEXT), covered_since(h->run));
}

static void again(struct asked *q)
{
    heap_want_asked(&q->recorded->heap, HEAP_AT_PEAK);
    heap_want_bounded(&q->recorded->heap);
}

static int run(struct asked *q, struct err *err)
{
    struct answer *a = q->answer;
    struct heap *h = &q->recorded->heap;
    struct table *facts = answer_facts(a, "facts");
    struct table *table = answer_add(a, "peak", TABLE_ROWS, columns, COUNT(columns));
    struct heap_amount sum;
    const struct heap_row *row;
    struct heap_rows rows;

    (void)err;
    if (heap_begin(h, a, table)) {
        sum = heap_at_asked(h, HEAP_AT_PEAK);
        add_facts(a, facts, h, &sum);
        heap_rows_stacks(&rows, h, weight, ROWS);
        for (size_t i = 0; (row = heap_rows_at(&rows, i)); i++) {
            struct table_cell *c = table_add(a, table);

            heap_cell_bytes(&c[BYTES], &row->sum.at);
            heap_cell_percent(&c[PERCENT], (double)row->sum.at.bytes, (double)sum.bytes);
            heap_cell_blocks(&c[BLOCKS], &row->sum.at);
            heap_cell_error(&c[ERROR_PERCENT], &row->sum.at);
            heap_cell_mapped(&c[MAPPED], h, row);
            if (h->process_count > 1 && row->stack)
                cell_number(&c[PROCESSES], row->sum.processes);
            heap_cell_site(&c[SITE], h, &rows, row);
            heap_cell_stack(&c[STACK], h, row);
        }
        if (!q->options->rows)
            table_find_minor(table, PERCENT, 0);
    }
    return 0;
}

const struct question question_peak = {
    .name = "peak",
    .summary = "who held memory when most of it was held",
    .group = QUESTION_OF_ALLOCATIONS,
    .reads = RECORDED_HEAP,
    .again = again,
    .run = run,
};
