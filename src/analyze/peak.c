/* peak - who held memory when most of it was held, or at another moment that is asked for. The rows
 * add up to the whole.
 */
#include "analyze/heap_rows.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define ROWS 50

static const struct table_column fact_columns[] = {{"name", UNIT_TEXT}, {"value", UNIT_TEXT}};

static const struct table_column columns[] = {
    {"bytes", UNIT_BYTES},           {"percent", UNIT_PERCENT}, {"blocks", UNIT_COUNT},
    {"error_percent", UNIT_PERCENT}, {"processes", UNIT_COUNT}, {"site", UNIT_TEXT},
    {"stack", UNIT_STACK},
};

static uint64_t weight(const struct heap_stack *s)
{
    return s->at.bytes;
}

static void add_facts(struct answer *a, struct table *facts, const struct heap *h,
                      const struct heap_amount *sum)
{
    bool peak = h->options.at == QUESTION_AT_DEFAULT || h->options.at == QUESTION_AT_PEAK;
    uint64_t time_ns = peak                              ? h->peak_ns
                     : h->options.at == QUESTION_AT_TIME ? h->options.at_ns
                                                         : h->to_ns;

    heap_cell_bytes(table_fact(a, facts, peak ? "peak_heap" : "live_heap", UNIT_BYTES), sum);
    cell_text(table_fact(a, facts, "basis", UNIT_TEXT),
              peak ? heap_peak_basis(h) : heap_basis(h, sum));
    heap_cell_blocks(table_fact(a, facts, "blocks", UNIT_COUNT), sum);
    cell_number(table_fact(a, facts, "time", UNIT_NS), time_ns);
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    struct table *facts = answer_add(a, "facts", TABLE_FACTS, fact_columns, 2);
    struct table *table = answer_add(a, "peak", TABLE_ROWS, columns, COUNT(columns));
    struct heap_amount sum;
    const struct heap_row *row;
    struct heap_rows rows;
    struct heap h;

    (void)err;
    heap_read(&h, a->arena, t, o, NULL, NULL);
    if (heap_begin(&h, a, table)) {
        sum = heap_at_asked(&h, t, HEAP_AT_PEAK);
        add_facts(a, facts, &h, &sum);
        heap_rows_stacks(&rows, &h, weight, ROWS);
        for (size_t i = 0; (row = heap_rows_at(&rows, i)); i++) {
            struct table_cell *c = table_add(a, table);

            heap_cell_bytes(&c[0], &row->sum.at);
            heap_cell_percent(&c[1], (double)row->sum.at.bytes, (double)sum.bytes);
            heap_cell_blocks(&c[2], &row->sum.at);
            heap_cell_error(&c[3], &row->sum.at);
            if (h.process_count > 1 && row->stack)
                cell_number(&c[4], row->sum.processes);
            heap_cell_site(&c[5], &h, &rows, row);
            heap_cell_stack(&c[6], &h, row);
        }
    }
    heap_free(&h);
    return 0;
}

const struct question question_peak = {
    .name = "peak",
    .summary = "who held memory when most of it was held",
    .run = run,
};
