/* leaks - what was still alive when its process ended, by stack, and whether it was still growing:
 * a stack grows when it held more at the end than a quarter of the process's time before.
 */
#include "analyze/heap_rows.h"
#include "analyze/suppress.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define ROWS 50

static const struct table_column fact_columns[] = {{"name", UNIT_TEXT}, {"value", UNIT_TEXT}};

static const struct table_column columns[] = {
    {"bytes", UNIT_BYTES},     {"percent", UNIT_PERCENT},
    {"blocks", UNIT_COUNT},    {"error_percent", UNIT_PERCENT},
    {"growing", UNIT_TEXT},    {"grown_last_quarter", UNIT_BYTES},
    {"first", UNIT_NS},        {"last", UNIT_NS},
    {"processes", UNIT_COUNT}, {"site", UNIT_TEXT},
    {"stack", UNIT_STACK},
};

static uint64_t weight(const struct heap_stack *s)
{
    return s->at.bytes;
}

/* What each stack held a quarter before the end, into `before`. */
static void look_back(struct heap *h, struct trace *t)
{
    heap_at(h, t, HEAP_AT_LAST_QUARTER, 0);
    for (size_t i = 0; i < h->stack_count; i++)
        h->stacks[i].before = h->stacks[i].at.bytes;
}

static void fill(struct table_cell *c, const struct heap *h, const struct heap_rows *rows,
                 const struct heap_row *row, const struct heap_amount *sum)
{
    const struct heap_amount *at = &row->sum.at;

    heap_cell_bytes(&c[0], at);
    heap_cell_percent(&c[1], (double)at->bytes, (double)sum->bytes);
    heap_cell_blocks(&c[2], at);
    heap_cell_error(&c[3], at);
    cell_text(&c[4], at->bytes > row->before ? "yes" : "no");
    cell_number(&c[5], at->bytes > row->before ? at->bytes - row->before : 0);
    if (row->sum.most) {
        cell_number(&c[6], row->sum.first_ns);
        cell_number(&c[7], row->sum.last_ns);
    }
    if (h->process_count > 1 && row->stack)
        cell_number(&c[8], row->sum.processes);
    heap_cell_site(&c[9], h, rows, row);
    heap_cell_stack(&c[10], h, row);
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    struct table *facts = answer_add(a, "facts", TABLE_FACTS, fact_columns, 2);
    struct table *table = answer_add(a, "leaks", TABLE_ROWS, columns, COUNT(columns));
    const struct heap_row *row;
    struct heap_amount sum;
    struct heap_rows rows;
    struct heap h;

    (void)err;
    heap_read(&h, a->arena, t, o, NULL, NULL);
    if (heap_begin(&h, a, table)) {
        look_back(&h, t);
        sum = heap_at_asked(&h, t, HEAP_AT_END);
        suppress_apply(o->suppress, &h, &sum);
        suppress_apply(o->suppress, &h, &sum);
        heap_cell_bytes(table_fact(a, facts, "alive", UNIT_BYTES), &sum);
        cell_text(table_fact(a, facts, "basis", UNIT_TEXT), heap_basis(&h, &sum));
        heap_cell_blocks(table_fact(a, facts, "blocks", UNIT_COUNT), &sum);
        heap_rows_stacks(&rows, &h, weight, ROWS);
        for (size_t i = 0; (row = heap_rows_at(&rows, i)); i++)
            fill(table_add(a, table), &h, &rows, row, &sum);
        if (!rows.count)
            table->note = "Nothing was alive at the end.";
        suppress_table(a, o->suppress);
        suppress_table(a, o->suppress);
    }
    heap_free(&h);
    return 0;
}

const struct question question_leaks = {
    .name = "leaks",
    .summary = "what was alive at the end, by stack, and whether it still grew",
    .run = run,
};
