/* question_leaks - what was alive when its process ended, by stack, and whether it was still
 * growing: see leak_rows.h. `confidence`: in how many of a hundred series without a trend chance
 * does not look so.
 */
#include "base/count.h"
#include "base/text.h"
#include "model/covered.h"
#include "model/heap_counts.h"
#include "model/leak_rows.h"
#include "model/suppress.h"
#include "questions/heap_cells.h"
#include "questions/leaks_per_step.h"
#include "questions/question.h"
#include "questions/suppress_table.h"

#define ROWS 50
#define CONFIDENCE_MOST 99.9 /* percent: no series of so few points says more */

enum {
    BYTES,
    PERCENT,
    BLOCKS,
    ERROR_PERCENT,
    BLOCKS_ERROR_PERCENT,
    LOST,
    LOST_BLOCKS,
    TREND,
    WITHIN,
    GROWTH_PER_SECOND,
    CONFIDENCE,
    GROWN_LAST_QUARTER,
    FREED_PERCENT,
    MEDIAN_AGE,
    OLDEST_AGE,
    FIRST,
    LAST,
    PROCESSES,
    SITE,
    STACK,
};

static const struct table_column columns[] = {
    [BYTES] = {"bytes", UNIT_BYTES},
    [PERCENT] = {"percent", UNIT_PERCENT},
    [BLOCKS] = {"blocks", UNIT_COUNT},
    [ERROR_PERCENT] = {"error_percent", UNIT_PERCENT, .detail = true},
    [BLOCKS_ERROR_PERCENT] = {"blocks_error_percent", UNIT_PERCENT, .detail = true},
    [LOST] = {"lost", UNIT_BYTES},
    [LOST_BLOCKS] = {"lost_blocks", UNIT_COUNT, .detail = true},
    [TREND] = {"trend", UNIT_TEXT},
    [WITHIN] = {"within", UNIT_TEXT, .detail = true},
    [GROWTH_PER_SECOND] = {"growth_per_second", UNIT_BYTES},
    [CONFIDENCE] = {"confidence", UNIT_PERCENT, .detail = true},
    [GROWN_LAST_QUARTER] = {"grown_last_quarter", UNIT_BYTES, .detail = true},
    [FREED_PERCENT] = {"freed_percent", UNIT_PERCENT, .detail = true},
    [MEDIAN_AGE] = {"median_age", UNIT_NS, .detail = true},
    [OLDEST_AGE] = {"oldest_age", UNIT_NS, .detail = true},
    [FIRST] = {"first", UNIT_NS, .detail = true},
    [LAST] = {"last", UNIT_NS, .detail = true},
    [PROCESSES] = {"processes", UNIT_COUNT, .detail = true},
    [SITE] = {"site", UNIT_TEXT},
    [STACK] = {"stack", UNIT_STACK},
};

/* Where it grows. */
static const char *within(const struct heap *h, const struct leak_verdict *v)
{
    struct arena *a = h->arena;
    const char *name = v->name ? v->name : "";

    switch (v->within) {
    case LEAK_IN_LAST_PART:
        return "the last part of the run";
    case LEAK_IN_STEPS:
        return arena_printf(a, "steps %s", name);
    case LEAK_IN_REGION:
        return arena_printf(a, "region %s", name);
    case LEAK_IN_RUN:
        break;
    }
    return "the run";
}

static void fill_verdict(struct table_cell *c, const struct heap *h, const struct heap_row *row,
                         const struct leak_verdict *v)
{
    static const char *const names[] = {"steady", "grew once", "unclear", "growing"};
    double confidence = 100 * (1 - v->chance);

    cell_text(&c[TREND], names[v->trend]);
    if (v->trend == LEAK_GROWING) {
        cell_rounded(&c[GROWTH_PER_SECOND], v->slope);
        cell_text(&c[WITHIN], within(h, v));
    }
    if (v->trend >= LEAK_UNCLEAR)
        cell_real(&c[CONFIDENCE], confidence < CONFIDENCE_MOST ? confidence : CONFIDENCE_MOST);
    cell_number(&c[GROWN_LAST_QUARTER],
                row->sum.at.bytes > v->quarter ? row->sum.at.bytes - v->quarter : 0);
}

/* At most what lives: the look may have been before. */
static const struct heap_amount *lost_of(const struct heap_stack_sum *s)
{
    return s->unreached.bytes < s->at.bytes ? &s->unreached : &s->at;
}

static void fill(struct table_cell *c, const struct heap *h, const struct leak_rows *l,
                 const struct heap_row *row)
{
    const struct heap_amount *at = &row->sum.at;
    struct leak_verdict v;
    struct heap_ages ages;

    heap_cell_bytes(&c[BYTES], at);
    heap_cell_percent(&c[PERCENT], (double)at->bytes, (double)l->alive.bytes);
    heap_cell_blocks(&c[BLOCKS], at);
    heap_cell_error(&c[ERROR_PERCENT], at);
    heap_cell_blocks_error(&c[BLOCKS_ERROR_PERCENT], h, at, heap_row_least(row));
    if (l->reach_known) {
        heap_cell_bytes(&c[LOST], lost_of(&row->sum));
        heap_cell_blocks(&c[LOST_BLOCKS], lost_of(&row->sum));
    }
    if (leak_rows_judge(l, row, &v))
        fill_verdict(c, h, row, &v);
    if (row->sum.sums.allocated.milliblocks)
        cell_real(&c[FREED_PERCENT], leak_rows_freed_percent(&row->sum));
    if (row != &l->rows.rest && heap_growth_ages(&l->growth, row, &ages)) {
        cell_number(&c[MEDIAN_AGE], ages.median_ns);
        cell_number(&c[OLDEST_AGE], ages.oldest_ns);
    }
    if (row->sum.seen.any) {
        cell_number(&c[FIRST], row->sum.seen.first_ns);
        cell_number(&c[LAST], row->sum.seen.last_ns);
    }
    if (h->process_count > 1 && row->stack)
        cell_number(&c[PROCESSES], row->sum.processes);
    heap_cell_site(&c[SITE], h, &l->rows, row);
    heap_cell_stack(&c[STACK], h, row);
}

static bool several_ended(const struct heap *h)
{
    int count = 0;

    for (size_t i = 0; i < h->process_count; i++)
        count += !h->processes[i]->execed;
    return count > 1;
}

/* The recorder was killed, or is at it. */
static bool lives_on(const struct heap *h)
{
    for (size_t i = 0; i < h->process_count; i++)
        if (h->processes[i]->run && !h->processes[i]->run->ended)
            return true;
    return false;
}

/* The summary's alive_before_end is of the same. What several processes left at their ends can be
 * more than ever lived at one time.
 */
static const char *moment(const struct heap *h)
{
    bool several = several_ended(h);

    if (h->options.at != SELECTION_AT_DEFAULT)
        return "the one that was asked for";
    for (size_t i = 0; i < h->process_count; i++)
        if (h->processes[i]->worked_ns)
            return several ? "when the interpreter began to end: what it freed then counts; of "
                             "several processes, each at its own end, added up"
                           : "when the interpreter began to end: what it freed then counts";
    if (h->options.to_ns)
        return "the end of this stretch, or of a process that ended before";
    if (covered_since(h->run))
        return "the detach, or the end of each process";
    if (lives_on(h))
        return "the last that was recorded, or the end of a process before";
    return several ? "the end of each process, added up" : "the end of each process";
}

static uint64_t lost_sum(const struct heap *h)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < h->stack_count; i++) {
        uint64_t lost = heap_stack_unreached(h, &h->stacks[i]).bytes, at = h->stacks[i].at.bytes;

        bytes += lost < at ? lost : at;
    }
    return bytes;
}

static void put_lost(struct answer *a, struct table *facts, const struct heap *h)
{
    cell_number(table_fact(a, facts, "lost", UNIT_BYTES), lost_sum(h));
    cell_number(table_fact(a, facts, "lost_as_of", UNIT_NS), heap_reach_ns(h));
}

static void put_facts(struct answer *a, struct table *facts, const struct heap *h,
                      const struct leak_rows *l)
{
    heap_cell_bytes(table_fact(a, facts, "alive", UNIT_BYTES), &l->alive);
    cell_text(table_fact(a, facts, "basis", UNIT_TEXT), heap_basis(h, &l->alive));
    heap_cell_blocks(table_fact(a, facts, "blocks", UNIT_COUNT), &l->alive);
    cell_text(table_fact(a, facts, "moment", UNIT_TEXT), moment(h));
    if (covered_since(h->run))
        cell_text(table_fact(a, facts, "since", UNIT_TEXT), covered_since(h->run));
    if (l->known.count)
        cell_number(table_fact(a, facts, "left_out", UNIT_BYTES), l->known.sum.bytes);
    if (l->reach_known)
        put_lost(a, facts, h);
    if (heap_execed_sum(h).milliblocks)
        cell_number(table_fact(a, facts, "ended_by_exec", UNIT_BYTES), heap_execed_sum(h).bytes);
    cell_number(table_fact(a, facts, "growing", UNIT_BYTES), l->growing_bytes);
    cell_number(table_fact(a, facts, "growing_stacks", UNIT_COUNT), l->growing_stacks);
}

/* No row: what was left out is told below. */
static const char *nothing(const struct heap *h, const struct leak_rows *l)
{
    char size[TEXT_SIZE];

    if (l->known.count)
        return "Nothing else was alive at the end, as far as the recording knows.";
    if (!h->sampled)
        return "Nothing was alive at the end.";
    return arena_printf(h->arena, "No sample was alive at the end: what was is less than %s.",
                        text_size(size, heap_counts_bound(h)));
}

struct state {
    struct leak_rows rows;
    struct leaks_per_step per_step;
};

static void again(struct asked *q)
{
    struct state *s = q->state;

    if (q->recorded->heap.any && q->options->per_step)
        leaks_per_step_want(q, &s->per_step);
    else if (q->recorded->heap.any)
        leak_rows_want(&s->rows, q->recorded, q->options->suppress);
}

static void put_leaks(struct asked *q, struct leak_rows *l)
{
    struct answer *a = q->answer;
    struct heap *h = &q->recorded->heap;
    struct suppress *suppress = q->options->suppress;
    struct table *facts = answer_facts(a, "facts");
    struct table *table = answer_add(a, "leaks", TABLE_ROWS, columns, COUNT(columns));
    const struct heap_row *row;

    if (heap_begin(h, a, table)) {
        leak_rows_read(l, suppress, ROWS);
        put_facts(a, facts, h, l);
        for (size_t i = 0; (row = heap_rows_at(&l->rows, i)); i++)
            fill(table_add(a, table), h, l, row);
        if (!q->options->rows && !l->reach_known)
            table_find_minor(table, PERCENT, (int)l->growing_stacks);
        table->note = !l->rows.count ? nothing(h, l)
                    : h->exact ? "Ages are of bytes, at the end; where blocks of a stack were "
                                 "freed, too, those alive are at least that old."
                               : "Ages are of bytes, at the end, by the samples.";
        suppress_table(a, suppress);
        known_leaks_table(a, &l->known);
    }
    leak_rows_free(l);
}

static int run(struct asked *q, struct err *err)
{
    struct state *s = q->state;

    (void)err;
    if (q->options->per_step)
        leaks_per_step_put(q, &s->per_step);
    else
        put_leaks(q, &s->rows);
    return 0;
}

const struct question question_leaks = {
    .name = "leaks",
    .summary = "what was alive at the end, by stack; what still grew first, and how fast",
    .group = QUESTION_OF_ALLOCATIONS,
    .about =
        "Of a Python program leaks shows what was alive before the interpreter freed everything at its end. It judges the last two thirds of each process's time. A stack is growing where it held more and more up to the end, as fewer than one in a hundred series without a trend do (confidence: 100 % less that chance, at most 99.9 %); growth_per_second is the median slope, in the process that held most. Unclear: it grew of late, but perhaps by chance. Grew once: it kept what it had, and no more came, like a full cache. Steady: most of its blocks were freed again (freed_percent). median_age and oldest_age say how old the memory still alive at the end was. With --per-step: what grows from step to step, of the whole run.",
    .reads = RECORDED_HEAP | RECORDED_SEEN | RECORDED_MOMENTS,
    .state = sizeof(struct state),
    .again = again,
    .run = run,
};
