/* question_regions - the named spans of a program: how often, how long, and what memory did
 * meanwhile. */
#include "base/count.h"
#include "base/memory.h"
#include "model/heap_rows.h"
#include "model/region_read.h"
#include "questions/covered_answer.h"
#include "questions/question.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPANS_SHOWN 100

enum {
    REGION_REGION,
    REGION_COUNT,
    REGION_TOTAL,
    REGION_SELF,
    REGION_MEAN,
    REGION_P95,
    REGION_LONGEST,
    REGION_CPU,
    REGION_CPU_ERROR_PERCENT,
    REGION_HEAP_CHANGE,
    REGION_HEAP_MOST,
    REGION_RSS_CHANGE,
    REGION_RSS_MOST,
    REGION_NOT_ENDED,
};

static const struct table_column columns[] = {
    [REGION_REGION] = {"region", UNIT_TEXT},
    [REGION_COUNT] = {"count", UNIT_COUNT},
    [REGION_TOTAL] = {"total", UNIT_NS},
    [REGION_SELF] = {"self", UNIT_NS, .detail = true},
    [REGION_MEAN] = {"mean", UNIT_NS},
    [REGION_P95] = {"p95", UNIT_NS, .detail = true},
    [REGION_LONGEST] = {"longest", UNIT_NS, .detail = true},
    [REGION_CPU] = {"cpu", UNIT_NS},
    [REGION_CPU_ERROR_PERCENT] = {"cpu_error_percent", UNIT_PERCENT, .detail = true},
    [REGION_HEAP_CHANGE] = {"heap_change", UNIT_CHANGE},
    [REGION_HEAP_MOST] = {"heap_most", UNIT_BYTES},
    [REGION_RSS_CHANGE] = {"rss_change", UNIT_CHANGE},
    [REGION_RSS_MOST] = {"rss_most", UNIT_BYTES},
    [REGION_NOT_ENDED] = {"not_ended", UNIT_COUNT, .detail = true},
};

enum {
    SPAN_FROM,
    SPAN_LENGTH,
    SPAN_REGION,
    SPAN_INSIDE,
    SPAN_CPU,
    SPAN_HEAP_CHANGE,
    SPAN_HEAP_MOST,
    SPAN_RSS_CHANGE,
    SPAN_RSS_MOST,
    SPAN_TID,
};

static const struct table_column span_columns[] = {
    [SPAN_FROM] = {"from", UNIT_NS},
    [SPAN_LENGTH] = {"length", UNIT_NS},
    [SPAN_REGION] = {"region", UNIT_TEXT},
    [SPAN_INSIDE] = {"inside", UNIT_TEXT},
    [SPAN_CPU] = {"cpu", UNIT_NS},
    [SPAN_HEAP_CHANGE] = {"heap_change", UNIT_CHANGE},
    [SPAN_HEAP_MOST] = {"heap_most", UNIT_BYTES},
    [SPAN_RSS_CHANGE] = {"rss_change", UNIT_CHANGE},
    [SPAN_RSS_MOST] = {"rss_most", UNIT_BYTES},
    [SPAN_TID] = {"tid", UNIT_ID},
};

static uint64_t length_of(const struct region_span *s)
{
    return s->to_ns ? s->to_ns - s->from_ns : 0;
}

/* Those that never ended come first among those of their name. */
static int by_name_and_length(const void *a, const void *b)
{
    const struct region_span *x = *(struct region_span *const *)a;
    const struct region_span *y = *(struct region_span *const *)b;
    int order = strcmp(x->name ? x->name : "", y->name ? y->name : "");
    uint64_t mine = length_of(x), other = length_of(y);

    if (order)
        return order;
    if (!x->to_ns != !y->to_ns)
        return x->to_ns ? 1 : -1;
    return mine < other ? -1 : mine > other;
}

struct sum {
    uint64_t count, open, total_ns, self_ns, cpu_ns;
    double squares;
    uint64_t heap_up, heap_down, heap_most, rss_up, rss_down, rss_most;
    bool heap_known, rss_known;
};

static void add(struct sum *sum, const struct region_span *s)
{
    uint64_t length = s->to_ns - s->from_ns;

    sum->count++;
    sum->total_ns += length;
    sum->self_ns += length > s->inner_ns ? length - s->inner_ns : 0;
    sum->cpu_ns += s->cpu_ns;
    sum->squares += s->cpu_squares;
    sum->heap_known |= s->heap_known;
    sum->heap_up += s->heap_after;
    sum->heap_down += s->heap_before;
    sum->heap_most = s->heap_most > sum->heap_most ? s->heap_most : sum->heap_most;
    sum->rss_known |= s->rss_known;
    sum->rss_up += s->rss_after;
    sum->rss_down += s->rss_before;
    sum->rss_most = s->rss_most > sum->rss_most ? s->rss_most : sum->rss_most;
}

/* One row for the spans of one name, sorted as above. */
static void put_row(struct answer *a, struct table *t, const struct region_list *l,
                    struct region_span *const *spans, size_t count)
{
    struct table_cell *c = table_add(a, t);
    struct sum sum = {0};
    const struct region_span *last = NULL, *p95;

    for (size_t i = 0; i < count; i++) {
        if (spans[i]->to_ns)
            add(&sum, last = spans[i]);
        else
            sum.open++;
    }
    cell_text(&c[REGION_REGION], spans[0]->name);
    cell_number(&c[REGION_COUNT], sum.count + sum.open);
    cell_number(&c[REGION_NOT_ENDED], sum.open);
    if (!last)
        return;
    p95 = spans[sum.open + (size_t)ceil(0.95 * (double)sum.count) - 1];
    cell_number(&c[REGION_TOTAL], sum.total_ns);
    cell_number(&c[REGION_SELF], sum.self_ns);
    cell_number(&c[REGION_MEAN], sum.total_ns / sum.count);
    cell_number(&c[REGION_P95], p95->to_ns - p95->from_ns);
    cell_number(&c[REGION_LONGEST], last->to_ns - last->from_ns);
    if (l->cpu_known)
        cell_number(&c[REGION_CPU], sum.cpu_ns);
    if (sum.cpu_ns)
        cell_real(&c[REGION_CPU_ERROR_PERCENT], 100 * sqrt(sum.squares) / (double)sum.cpu_ns);
    if (sum.heap_known) {
        cell_change(&c[REGION_HEAP_CHANGE], sum.heap_down, sum.heap_up);
        cell_number(&c[REGION_HEAP_MOST], sum.heap_most);
    }
    if (sum.rss_known) {
        cell_change(&c[REGION_RSS_CHANGE], sum.rss_down, sum.rss_up);
        cell_number(&c[REGION_RSS_MOST], sum.rss_most);
    }
}

static struct region_span **sorted(struct arena *a, struct region_list *l)
{
    struct region_span **spans = arena_alloc(a, (l->count + 1) * sizeof(struct region_span *));

    for (size_t i = 0; i < l->count; i++)
        spans[i] = &l->spans[i];
    memory_sort(spans, l->count, sizeof(struct region_span *), by_name_and_length);
    return spans;
}

static bool same_name(const struct region_span *a, const struct region_span *b)
{
    return !strcmp(a->name ? a->name : "", b->name ? b->name : "");
}

static void put_regions(struct answer *a, struct table *t, struct region_list *l)
{
    struct region_span **spans = sorted(a->arena, l);

    for (size_t i = 0, end; i < l->count; i = end) {
        for (end = i; end < l->count && same_name(spans[i], spans[end]); end++)
            ;
        put_row(a, t, l, &spans[i], end - i);
    }
    table_sort(t, REGION_TOTAL);
}

static int by_length(const void *a, const void *b)
{
    const struct region_span *x = *(struct region_span *const *)a;
    const struct region_span *y = *(struct region_span *const *)b;
    uint64_t mine = length_of(x), other = length_of(y);

    if (mine != other)
        return mine > other ? -1 : 1;
    return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static int by_time(const void *a, const void *b)
{
    const struct region_span *x = *(struct region_span *const *)a;
    const struct region_span *y = *(struct region_span *const *)b;

    return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static void put_span(struct table_cell *c, const struct region_list *l, struct threads *threads,
                     const struct region_span *s)
{
    const struct threads_thread *thread = threads_find(threads, s->thread);

    cell_number(&c[SPAN_FROM], s->from_ns);
    cell_text(&c[SPAN_REGION], s->name);
    if (s->parent)
        cell_text(&c[SPAN_INSIDE], l->spans[s->parent - 1].name);
    if (thread && thread->tid)
        cell_number(&c[SPAN_TID], thread->tid);
    if (!s->to_ns)
        return;
    cell_number(&c[SPAN_LENGTH], s->to_ns - s->from_ns);
    if (l->cpu_known)
        cell_number(&c[SPAN_CPU], s->cpu_ns);
    if (s->heap_known) {
        cell_change(&c[SPAN_HEAP_CHANGE], s->heap_before, s->heap_after);
        cell_number(&c[SPAN_HEAP_MOST], s->heap_most);
    }
    if (s->rss_known) {
        cell_change(&c[SPAN_RSS_CHANGE], s->rss_before, s->rss_after);
        cell_number(&c[SPAN_RSS_MOST], s->rss_most);
    }
}

/* The longest, in the order of time. */
static void put_spans(struct answer *a, struct table *t, struct region_list *l,
                      struct threads *threads, uint64_t most)
{
    struct region_span **spans = sorted(a->arena, l);
    size_t shown = most && most < l->count ? (size_t)most : l->count;

    memory_sort(spans, l->count, sizeof(struct region_span *), by_length);
    memory_sort(spans, shown, sizeof(struct region_span *), by_time);
    for (size_t i = 0; i < shown; i++)
        put_span(table_add(a, t), l, threads, spans[i]);
    if (shown < l->count)
        t->note = arena_printf(a->arena, "The %zu longest of %zu.", shown, l->count);
}

static void again(struct asked *q)
{
    if (q->recorded->heap.any)
        region_want_heap(&q->recorded->regions, &q->recorded->heap);
}

static int run(struct asked *q, struct err *err)
{
    struct answer *a = q->answer;
    struct region_list *l = &q->recorded->regions;
    uint64_t rows = q->options->rows;
    struct table *names = answer_add(a, "regions", TABLE_ROWS, columns, COUNT(columns));
    struct table *spans = answer_add(a, "spans", TABLE_ROWS, span_columns, COUNT(span_columns));

    (void)err;
    if (q->recorded->heap.any)
        region_add_heap(l);
    covered_answer(a, &q->recorded->run);
    names->note =
        l->count
            ? "CPU is of the region's own thread, the heap of its process, RSS of all processes: what others do meanwhile counts as well."
            : "The program named no regions: see include/tidemark.h, or the Python "
              "package tidemark.";
    put_regions(a, names, l);
    put_spans(a, spans, l, &q->recorded->threads, rows ? rows : SPANS_SHOWN);
    return 0;
}

const struct question question_regions = {
    .name = "regions",
    .summary = "the named spans of the program: count, times, CPU, memory",
    .group = QUESTION_OF_PROGRAM,
    .reads = RECORDED_REGIONS,
    .again = again,
    .run = run,
};
