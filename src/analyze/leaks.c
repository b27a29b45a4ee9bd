/* leaks - what was still alive when its process ended, by stack, and whether it was still growing.
 *
 * Judged are the last two thirds of its process's time. A stack is
 *   growing    it held more and more, up to the end, and chance does so in at most one of a hundred
 *              series without a trend (`confidence`: in how many it does not)
 *   unclear    it held more at the end than a sixth of the time before, but that may be chance
 *   grew once  what it held it kept, but no more came: a cache that was filled, say
 *   steady     most of its blocks were freed again, and others took their place
 */
#include "analyze/heap_growth.h"
#include "analyze/suppress.h"
#include "analyze/trend.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define ROWS 50
#define CHANCE_MOST 0.01
#define CONFIDENCE_MOST 99.9 /* percent: no series of so few points says more */

#define LAST (HEAP_GROWTH_POINTS - 1)
#define JUDGED (HEAP_GROWTH_POINTS / 3 - 1) /* the point at which the last two thirds begin */
#define SIXTH (HEAP_GROWTH_POINTS * 5 / 6 - 1)
#define JUDGED_POINTS (HEAP_GROWTH_POINTS - JUDGED)

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
    {"first", UNIT_NS},
    {"last", UNIT_NS},
    {"processes", UNIT_COUNT},
    {"site", UNIT_TEXT},
    {"stack", UNIT_STACK},
};

enum trend { STEADY, GREW_ONCE, UNCLEAR, GROWING }; /* growing ones are shown first */

struct verdict {
    enum trend trend;
    double chance, slope; /* slope: bytes per second */
    uint64_t quarter;
};

static uint64_t weight(const struct heap_stack *s)
{
    return s->at.bytes;
}

/* The share of its blocks that did not live any more. */
static double freed_percent(const struct heap_stack *s)
{
    double all = (double)s->sums.allocated.milliblocks, alive = (double)s->at.milliblocks;

    return alive < all ? 100 - alive / all * 100 : 0;
}

static bool judge(const struct heap_growth *g, const struct heap_row *row, struct verdict *v)
{
    struct heap_grown grown;

    if (!heap_growth_of(g, row, &grown))
        return false;
    *v = (struct verdict){.trend = STEADY, .quarter = grown.quarter};
    v->chance = trend_chance(grown.bytes + JUDGED, JUDGED_POINTS);
    v->slope = trend_slope(grown.bytes + JUDGED, JUDGED_POINTS) * 1e9 / (double)grown.step_ns;
    if (grown.bytes[LAST] > grown.bytes[SIXTH] && v->slope > 0 && v->chance <= CHANCE_MOST)
        v->trend = GROWING;
    else if (freed_percent(&row->sum) < 50)
        v->trend = grown.bytes[LAST] > grown.bytes[SIXTH] ? UNCLEAR : GREW_ONCE;
    return true;
}

struct growing { /* the context of rank: what grows is added up */
    struct heap_growth growth;
    uint64_t bytes, stacks;
};

static void rank(struct heap_row *row, void *context)
{
    struct growing *g = context;
    struct verdict v;

    row->rank = judge(&g->growth, row, &v) && v.trend == GROWING;
    g->bytes += row->rank ? row->sum.at.bytes : 0;
    g->stacks += row->rank != 0;
}

static void fill_verdict(struct table_cell *c, const struct heap_row *row, const struct verdict *v)
{
    static const char *const names[] = {"steady", "grew once", "unclear", "growing"};
    double confidence = 100 * (1 - v->chance);

    cell_text(&c[4], names[v->trend]);
    if (v->trend == GROWING)
        cell_rounded(&c[5], v->slope);
    if (v->trend >= UNCLEAR)
        cell_real(&c[6], confidence < CONFIDENCE_MOST ? confidence : CONFIDENCE_MOST);
    cell_number(&c[7], row->sum.at.bytes > v->quarter ? row->sum.at.bytes - v->quarter : 0);
}

static void fill(struct table_cell *c, const struct heap *h, const struct heap_growth *g,
                 const struct heap_rows *rows, const struct heap_row *row,
                 const struct heap_amount *sum)
{
    const struct heap_amount *at = &row->sum.at;
    struct verdict v;

    heap_cell_bytes(&c[0], at);
    heap_cell_percent(&c[1], (double)at->bytes, (double)sum->bytes);
    heap_cell_blocks(&c[2], at);
    heap_cell_error(&c[3], at);
    if (row != &rows->rest && judge(g, row, &v))
        fill_verdict(c, row, &v);
    if (row->sum.sums.allocated.milliblocks)
        cell_real(&c[8], freed_percent(&row->sum));
    if (row->sum.most) {
        cell_number(&c[9], row->sum.first_ns);
        cell_number(&c[10], row->sum.last_ns);
    }
    if (h->process_count > 1 && row->stack)
        cell_number(&c[11], row->sum.processes);
    heap_cell_site(&c[12], h, rows, row);
    heap_cell_stack(&c[13], h, row);
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    struct table *facts = answer_add(a, "facts", TABLE_FACTS, fact_columns, 2);
    struct table *table = answer_add(a, "leaks", TABLE_ROWS, columns, COUNT(columns));
    const struct heap_row *row;
    struct growing g = {0};
    struct heap_amount sum;
    struct heap_rows rows;
    struct heap h;

    (void)err;
    heap_read(&h, a->arena, t, o, NULL, NULL);
    if (heap_begin(&h, a, table)) {
        sum = heap_at_asked(&h, t, HEAP_AT_WORKED);
        suppress_apply(o->suppress, &h, &sum);
        heap_growth_read(&g.growth, &h, t);
        heap_cell_bytes(table_fact(a, facts, "alive", UNIT_BYTES), &sum);
        cell_text(table_fact(a, facts, "basis", UNIT_TEXT), heap_basis(&h, &sum));
        heap_cell_blocks(table_fact(a, facts, "blocks", UNIT_COUNT), &sum);
        heap_rows_ranked(&rows, &h, weight, ROWS, rank, &g);
        cell_number(table_fact(a, facts, "growing", UNIT_BYTES), g.bytes);
        cell_number(table_fact(a, facts, "growing_stacks", UNIT_COUNT), g.stacks);
        for (size_t i = 0; (row = heap_rows_at(&rows, i)); i++)
            fill(table_add(a, table), &h, &g.growth, &rows, row, &sum);
        if (!rows.count)
            table->note = "Nothing was alive at the end.";
        suppress_table(a, o->suppress);
        heap_growth_free(&g.growth);
    }
    heap_free(&h);
    return 0;
}

const struct question question_leaks = {
    .name = "leaks",
    .summary = "what was alive at the end, by stack; what still grew first, and how fast",
    .run = run,
};
