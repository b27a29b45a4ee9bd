/* functions - see function_rows.h; and the question `functions`. */
#include "analyze/function_rows.h"

#include "analyze/heap_rows.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

static const struct table_column columns[] = {
    {"function", UNIT_TEXT},
    LINE_SUMS_COLUMNS,
    {"total_cpu_percent", UNIT_PERCENT},
    {"total_cpu", UNIT_NS},
    {"total_waiting", UNIT_NS},
    {"total_allocated", UNIT_BYTES},
    {"total_at_peak", UNIT_BYTES},
    {"total_alive", UNIT_BYTES},
    {"file", UNIT_TEXT},
    {"line", UNIT_ID},
};
#define TOTALS_AT (1 + LINE_SUMS_WIDTH)

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
        heap_cell_percent(&c[0], (double)l->cpu.ns, (double)s->sum.cpu.ns);
        cell_number(&c[1], l->cpu.ns);
    }
    if (s->waits_known)
        cell_number(&c[2], l->cpu.wait_ns);
    if (s->memory_known) {
        heap_cell_bytes(&c[3], &l->allocated);
        heap_cell_bytes(&c[4], &l->at_peak);
        heap_cell_bytes(&c[5], &l->alive);
    }
}

static void add_function(struct answer *a, struct table *t, const struct line_sums *s,
                         uint32_t function)
{
    const struct blame_function *f = &s->blame.functions[function];
    struct table_cell *c = table_add(a, t);

    cell_text(&c[0], f->name ? f->name : "(not known)");
    line_sums_cells(s, &c[1], &s->selves[function]);
    fill_totals(s, &c[TOTALS_AT], &s->totals[function]);
    cell_text(&c[TOTALS_AT + 6], s->blame.files[f->file].path);
    if (f->line)
        cell_number(&c[TOTALS_AT + 7], f->line);
}

static void add_rest(struct answer *a, struct table *t, const struct line_sums *s, const char *name,
                     const struct line_sum *sum)
{
    struct table_cell *c;

    if (line_sum_is_empty(sum))
        return;
    c = table_add(a, t);
    cell_text(&c[0], name);
    line_sums_cells(s, &c[1], sum);
}

struct table *function_rows_add(struct answer *a, const struct line_sums *s)
{
    struct table *t = answer_add(a, "functions", TABLE_ROWS, columns, COUNT(columns));
    struct row *rows = memory_zeroed(((size_t)s->blame.function_count + 1) * sizeof(*rows));
    uint64_t most = s->heap.options.rows ? s->heap.options.rows : UINT64_MAX;
    struct line_sum rest = {0};
    size_t count = 0;

    t->detail = LINE_SUMS_DETAIL << 1 | 0x36u << TOTALS_AT;
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
        add_rest(a, t, s, scope_text((enum scope_kind)i), &s->lines[i]);
    free(rows);
    return t;
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    struct line_sums s;
    struct table *table;

    (void)err;
    line_sums_read(&s, a, t, o);
    table = function_rows_add(a, &s);
    table->note = line_sum_is_empty(&s.sum)
                    ? "The trace holds no allocations, no CPU time and no waits."
                    : line_sums_outside(&s, a->arena);
    line_sums_free(&s);
    return 0;
}

const struct question question_functions = {
    .name = "functions",
    .summary = "what each function cost, itself and with all it called",
    .run = run,
};
