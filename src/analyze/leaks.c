/* leaks - what was alive when its process ended, by stack, and whether it was still growing: see
 * leak_rows.h. `confidence`: in how many of a hundred series without a trend chance does not look so.
 */
#include "analyze/leak_rows.h"
#include "analyze/suppress.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define ROWS 50
#define CONFIDENCE_MOST 99.9 /* percent: no series of so few points says more */

static const struct table_column fact_columns[] = {{"name", UNIT_TEXT}, {"value", UNIT_TEXT}};

static const struct table_column columns[] = {
    {"bytes", UNIT_BYTES},
    {"percent", UNIT_PERCENT},
    {"blocks", UNIT_COUNT},
    {"error_percent", UNIT_PERCENT},
    {"trend", UNIT_TEXT},
    {"growth_per_second", UNIT_BYTES},
    {"confidence", UNIT_PERCENT},
    {"grown_last_quarter", UNIT_BYTES},
    {"freed_percent", UNIT_PERCENT},
    {"median_age", UNIT_NS},
    {"oldest_age", UNIT_NS},
    {"first", UNIT_NS},
    {"last", UNIT_NS},
    {"processes", UNIT_COUNT},
    {"site", UNIT_TEXT},
    {"stack", UNIT_STACK},
};

#define DETAIL (1u << 7 | 1u << 11 | 1u << 12) /* grown_last_quarter, first, last */

static void fill_verdict(struct table_cell *c, const struct heap_row *row,
                         const struct leak_verdict *v)
{
    static const char *const names[] = {"steady", "grew once", "unclear", "growing"};
    double confidence = 100 * (1 - v->chance);

    cell_text(&c[4], names[v->trend]);
    if (v->trend == LEAK_GROWING)
        cell_rounded(&c[5], v->slope);
    if (v->trend >= LEAK_UNCLEAR)
        cell_real(&c[6], confidence < CONFIDENCE_MOST ? confidence : CONFIDENCE_MOST);
    cell_number(&c[7], row->sum.at.bytes > v->quarter ? row->sum.at.bytes - v->quarter : 0);
}

static void fill(struct table_cell *c, const struct heap *h, const struct leak_rows *l,
                 const struct heap_row *row)
{
    const struct heap_amount *at = &row->sum.at;
    struct leak_verdict v;
    struct heap_ages ages;

    heap_cell_bytes(&c[0], at);
    heap_cell_percent(&c[1], (double)at->bytes, (double)l->alive.bytes);
    heap_cell_blocks(&c[2], at);
    heap_cell_error(&c[3], at);
    if (leak_rows_judge(l, row, &v))
        fill_verdict(c, row, &v);
    if (row->sum.sums.allocated.milliblocks)
        cell_real(&c[8], leak_rows_freed_percent(&row->sum));
    if (row != &l->rows.rest && heap_growth_ages(&l->growth, row, &ages)) {
        cell_number(&c[9], ages.median_ns);
        cell_number(&c[10], ages.oldest_ns);
    }
    if (row->sum.most) {
        cell_number(&c[11], row->sum.first_ns);
        cell_number(&c[12], row->sum.last_ns);
    }
    if (h->process_count > 1 && row->stack)
        cell_number(&c[13], row->sum.processes);
    heap_cell_site(&c[14], h, &l->rows, row);
    heap_cell_stack(&c[15], h, row);
}

/* Of which the summary's alive_at_end may differ. */
static const char *moment(const struct heap *h)
{
    if (h->options.at != QUESTION_AT_DEFAULT)
        return "the one that was asked for";
    for (size_t i = 0; i < h->process_count; i++)
        if (h->processes[i]->worked_ns)
            return "the last allocation by a line of Python: what was freed later counts";
    return "the end of each process";
}

static void put_facts(struct answer *a, struct table *facts, const struct heap *h,
                      const struct leak_rows *l)
{
    heap_cell_bytes(table_fact(a, facts, "alive", UNIT_BYTES), &l->alive);
    cell_text(table_fact(a, facts, "basis", UNIT_TEXT), heap_basis(h, &l->alive));
    heap_cell_blocks(table_fact(a, facts, "blocks", UNIT_COUNT), &l->alive);
    cell_text(table_fact(a, facts, "moment", UNIT_TEXT), moment(h));
    cell_number(table_fact(a, facts, "growing", UNIT_BYTES), l->growing_bytes);
    cell_number(table_fact(a, facts, "growing_stacks", UNIT_COUNT), l->growing_stacks);
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    struct table *facts = answer_add(a, "facts", TABLE_FACTS, fact_columns, 2);
    struct table *table = answer_add(a, "leaks", TABLE_ROWS, columns, COUNT(columns));
    const struct heap_row *row;
    struct leak_rows l;
    struct heap h;

    (void)err;
    heap_read(&h, a->arena, t, o, NULL, NULL);
    if (heap_begin(&h, a, table)) {
        leak_rows_read(&l, &h, t, o->suppress, ROWS);
        put_facts(a, facts, &h, &l);
        for (size_t i = 0; (row = heap_rows_at(&l.rows, i)); i++)
            fill(table_add(a, table), &h, &l, row);
        table->detail = DETAIL;
        table->note = !l.rows.count ? "Nothing was alive at the end."
                    : h.exact       ? "Ages are of bytes, at the end; where blocks of a stack were "
                                      "freed, too, those alive are at least that old."
                                    : "Ages are of bytes, at the end, by the samples.";
        suppress_table(a, o->suppress);
        leak_rows_free(&l);
    }
    heap_free(&h);
    return 0;
}

const struct question question_leaks = {
    .name = "leaks",
    .summary = "what was alive at the end, by stack; what still grew first, and how fast",
    .run = run,
};
