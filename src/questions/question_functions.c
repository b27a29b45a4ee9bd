/* question_functions - see function_rows.h; and the question `functions`. */
#include "base/count.h"
#include "questions/function_rows.h"

#include "base/memory.h"
#include "model/heap_rows.h"
#include "questions/heap_cells.h"
#include "questions/line_cells.h"
#include "questions/question.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    FUNCTION,
    SUMS, /* its own: the columns of line_sums */
    TOTAL_CPU_PERCENT = SUMS + LINE_SUMS_WIDTH,
    TOTAL_CPU,
    TOTAL_WAITING,
    TOTAL_ALLOCATED,
    TOTAL_AT_PEAK,
    TOTAL_ALIVE,
    FILE_COLUMN,
    LINE,
};

static const struct table_column columns[] = {
    [FUNCTION] = {"function", UNIT_TEXT},
    LINE_SUMS_COLUMNS(SUMS),
    [TOTAL_CPU_PERCENT] = {"total_cpu_percent", UNIT_PERCENT, .detail = true},
    [TOTAL_CPU] = {"total_cpu", UNIT_NS, .detail = true},
    [TOTAL_WAITING] = {"total_waiting", UNIT_NS, .detail = true},
    [TOTAL_ALLOCATED] = {"total_allocated", UNIT_BYTES, .detail = true},
    [TOTAL_AT_PEAK] = {"total_at_peak", UNIT_BYTES, .detail = true},
    [TOTAL_ALIVE] = {"total_alive", UNIT_BYTES, .detail = true},
    [FILE_COLUMN] = {"file", UNIT_TEXT},
    [LINE] = {"line", UNIT_ID},
};

struct row {
    uint32_t function;
    double self, total;
};

static int by_weight(const void *left, const void *right)
{
    const struct row *l = left, *r = right;

    if (l->self < r->self || l->self > r->self)
        return l->self < r->self ? 1 : -1;
    if (l->total < r->total || l->total > r->total)
        return l->total < r->total ? 1 : -1;
    return l->function < r->function ? -1 : l->function > r->function;
}

static void fill_totals(const struct line_sums *s, struct table_cell *c, const struct line_sum *l)
{
    if (s->cpu_known) {
        heap_cell_percent(&c[TOTAL_CPU_PERCENT], (double)l->cpu.ns, (double)s->sum.cpu.ns);
        cell_number(&c[TOTAL_CPU], l->cpu.ns);
    }
    if (s->waits_known)
        cell_number(&c[TOTAL_WAITING], l->cpu.wait_ns);
    if (s->memory_known) {
        heap_cell_bytes(&c[TOTAL_ALLOCATED], &l->allocated);
        heap_cell_bytes(&c[TOTAL_AT_PEAK], &l->at_peak);
        heap_cell_bytes(&c[TOTAL_ALIVE], &l->alive);
    }
}

static void add_function(struct answer *a, struct table *t, const struct line_sums *s,
                         uint32_t function)
{
    const struct blame_function *f = &s->blame.functions[function];
    struct table_cell *c = table_add(a, t);

    cell_text(&c[FUNCTION], f->name ? f->name : "(not known)");
    line_sums_cells(s, &c[SUMS], &s->selves[function]);
    fill_totals(s, c, &s->totals[function]);
    cell_text(&c[FILE_COLUMN], s->blame.files[f->file].path);
    if (f->line)
        cell_number(&c[LINE], f->line);
}

static void add_rest(struct answer *a, struct table *t, const struct line_sums *s, const char *name,
                     const struct line_sum *sum)
{
    struct table_cell *c;

    if (line_sum_is_empty(sum))
        return;
    c = table_add(a, t);
    cell_text(&c[FUNCTION], name);
    line_sums_cells(s, &c[SUMS], sum);
}

struct table *function_rows_add(struct answer *a, const struct line_sums *s)
{
    struct table *t = answer_add(a, "functions", TABLE_ROWS, columns, COUNT(columns));
    struct row *rows = memory_zeroed(((size_t)s->blame.function_count + 1) * sizeof(*rows));
    uint64_t most = s->heap->options.rows ? s->heap->options.rows : UINT64_MAX;
    struct line_sum rest = {0};
    size_t count = 0;

    for (uint32_t i = 0; i < s->blame.function_count; i++)
        if (!line_sum_is_empty(&s->totals[i]))
            rows[count++] = (struct row){i, line_sums_weight(s, &s->selves[i]),
                                         line_sums_weight(s, &s->totals[i])};
    memory_sort(rows, count, sizeof(*rows), by_weight);
    for (size_t i = 0; i < count; i++) {
        if (i < most)
            add_function(a, t, s, rows[i].function);
        else
            line_sum_add(&rest, &s->selves[rows[i].function]);
    }
    if (count > most)
        add_rest(a, t, s,
                 arena_printf(a->arena, "(%" PRIu64 " smaller one%s)", count - most,
                              count - most == 1 ? "" : "s"),
                 &rest);
    for (int i = 0; i < SCOPE_KINDS; i++)
        add_rest(a, t, s, line_sums_kind(s, a->arena, (uint32_t)i), &s->lines[i]);
    free(rows);
    return t;
}

static void again(struct asked *q)
{
    line_sums_want(q->state, q->recorded, q->options, false);
}

static int run(struct asked *q, struct err *err)
{
    struct answer *a = q->answer;
    struct line_sums *s = q->state;
    struct table *table;

    (void)err;
    line_sums_read(s);
    line_cells_answer(a, s);
    table = function_rows_add(a, s);
    table->note =
        line_sum_is_empty(&s->sum)
            ? "The trace holds no allocations, no CPU time and no waits: 'tidemark record' records them."
            : line_sums_outside(s, a->arena);
    line_sums_free(s);
    return 0;
}

const struct question question_functions = {
    .name = "functions",
    .summary = "what each function cost, itself and with all it called",
    .group = QUESTION_OF_SOURCE,
    .reads = LINE_SUMS_READS,
    .state = sizeof(struct line_sums),
    .again = again,
    .run = run,
};
