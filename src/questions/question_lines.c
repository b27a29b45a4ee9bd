/* question_lines - the question `lines`: what each line of the program's source cost, and its
 * functions. Files come by weight, their lines in order; what is no line of the program comes last,
 * so that every column adds up to its total.
 */
#include "base/count.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/covered.h"
#include "model/heap_rows.h"
#include "model/line_devices.h"
#include "model/line_sums.h"
#include "questions/function_rows.h"
#include "questions/heap_cells.h"
#include "questions/heap_summary.h"
#include "questions/line_cells.h"
#include "questions/line_device_cells.h"
#include "questions/question.h"

#include <inttypes.h>
#include <stdlib.h>

#define REDUCED_SHARE 0.01 /* of the time */
#define REDUCED_BLOCKS 100

enum {
    FILE_SUMS, /* the columns of line_sums */
    FILE_LINES = FILE_SUMS + LINE_SUMS_WIDTH,
    FILE_FILE,
};

static const struct table_column file_columns[] = {
    LINE_SUMS_COLUMNS(FILE_SUMS),
    [FILE_LINES] = {"lines", UNIT_COUNT, .detail = true},
    [FILE_FILE] = {"file", UNIT_TEXT},
};

enum {
    LINE_FILE,
    LINE_LINE,
    LINE_FUNCTION,
    LINE_SUMS,
    LINE_MEMORY = LINE_SUMS + LINE_SUMS_WIDTH,
    LINE_TEXT,
    LINE_DEVICES, /* where something is known of them */
};

static const struct table_column columns[] = {
    [LINE_FILE] = {"file", UNIT_TEXT},         [LINE_LINE] = {"line", UNIT_ID},
    [LINE_FUNCTION] = {"function", UNIT_TEXT}, LINE_SUMS_COLUMNS(LINE_SUMS),
    [LINE_MEMORY] = {"memory", UNIT_SERIES},   [LINE_TEXT] = {"text", UNIT_TEXT},
    LINE_DEVICE_COLUMNS(LINE_DEVICES),
};

struct state {
    struct line_sums sums;
    struct line_devices devices;
};

struct row {
    uint32_t line; /* of blame */
    double weight, file_weight;
};

struct rows {
    struct row *rows;
    size_t count, left;
    struct line_sum rest; /* of those that are left out */
    struct line_device rest_devices;
};

/* ---- facts ---- */

static void add_peak(struct answer *a, struct table *facts, const struct run *r)
{
    uint64_t value;
    struct table_cell *c = table_fact(a, facts, "peak_rss_at_least", UNIT_BYTES);

    if (metrics_get(&r->final, METRIC_PEAK_LOWER, &value))
        cell_number(c, value);
    c = table_fact(a, facts, "peak_rss_at_most", UNIT_BYTES);
    if (metrics_get(&r->final, METRIC_PEAK_UPPER, &value))
        cell_number(c, value);
}

/* A sample stands for the time since the one before it, so that their sum is measured; what the
 * kernel counted has the end of each thread and what was not recorded, too.
 */
static const char *cpu_basis(const struct answer *a, const struct line_sums *s)
{
    const struct cpu_sums *cpu = &s->sum.cpu;
    char used[TEXT_SIZE];
    uint64_t ns;

    if (s->heap->options.from_ns || s->heap->options.to_ns ||
        !run_total(&s->recorded->run, METRIC_CPU_NS, &ns))
        return arena_printf(a->arena, "%" PRIu64 " sample%s", cpu->samples,
                            cpu->samples == 1 ? "" : "s");
    text_duration(used, ns);
    return arena_printf(a->arena, "%" PRIu64 " sample%s; the kernel counted %s in all processes",
                        cpu->samples, cpu->samples == 1 ? "" : "s", used);
}

static void add_cpu(struct answer *a, struct table *facts, const struct line_sums *s)
{
    static const char *const names[] = {NULL, "in_python", "in_native_code", "in_the_kernel"};
    const struct cpu_sums *cpu = &s->sum.cpu;
    struct table_cell *c = table_fact(a, facts, "cpu", UNIT_NS);

    if (!s->cpu_known)
        return;
    cell_number(c, cpu->ns);
    for (int i = TRACE_CPU_PYTHON; i <= TRACE_CPU_SYSTEM; i++)
        heap_cell_percent(table_fact(a, facts, names[i], UNIT_PERCENT), (double)cpu->kind_ns[i],
                          (double)cpu->ns);
    heap_cell_percent(table_fact(a, facts, "cpu_without_stack", UNIT_PERCENT),
                      (double)cpu->kind_ns[0], (double)cpu->ns);
    cell_text(table_fact(a, facts, "cpu_basis", UNIT_TEXT), cpu_basis(a, s));
}

static void add_memory(struct answer *a, struct table *facts, const struct line_sums *s)
{
    if (!s->memory_known)
        return;
    heap_cell_bytes(table_fact(a, facts, "heap_allocated", UNIT_BYTES), &s->sum.allocated);
    cell_text(table_fact(a, facts, "heap_allocated_basis", UNIT_TEXT),
              heap_basis(s->heap, &s->sum.allocated));
    heap_cell_blocks(table_fact(a, facts, "allocations", UNIT_COUNT), &s->sum.allocated);
    heap_cell_bytes(table_fact(a, facts, "peak_heap", UNIT_BYTES), &s->heap->peak);
    cell_text(table_fact(a, facts, "peak_heap_basis", UNIT_TEXT), heap_peak_basis(s->heap));
    if (covered_since(s->heap->run))
        cell_text(table_fact(a, facts, "heap_since", UNIT_TEXT), covered_since(s->heap->run));
    cell_number(table_fact(a, facts, "peak_heap_time", UNIT_NS), s->heap->peak_ns);
    heap_cell_bytes(table_fact(a, facts, "alive_at_end", UNIT_BYTES), &s->sum.alive);
    heap_summary_before_end(a, facts, s->heap);
    cell_series(table_fact(a, facts, "live_heap", UNIT_SERIES),
                heap_series_of(&s->series, s->blame.line_count));
}

static void add_facts(struct answer *a, struct table *facts, const struct line_sums *s)
{
    const struct run *r = &s->recorded->run;

    cell_text(table_fact(a, facts, "command", UNIT_TEXT),
              names_find(r->names, TRACE_OF_RUN, FACT_COMMAND));
    cell_number(table_fact(a, facts, "started", UNIT_MOMENT), r->header->real_ns);
    cell_number(table_fact(a, facts, "duration", UNIT_NS), run_duration(r));
    add_peak(a, facts, r);
    add_cpu(a, facts, s);
    if (s->waits_known) {
        cell_number(table_fact(a, facts, "waiting", UNIT_NS), s->sum.cpu.wait_ns);
        cell_number(table_fact(a, facts, "no_cpu_was_free", UNIT_NS),
                    s->sum.cpu.cause_ns[TRACE_WAIT_QUEUE]);
    }
    add_memory(a, facts, s);
    if (s->copies_known)
        cell_number(table_fact(a, facts, "copied", UNIT_BYTES), s->sum.cpu.copied);
}

/* ---- files ---- */

/* What orders each file; their sums become rows. */
static double *add_files(struct answer *a, struct table *t, const struct line_sums *s)
{
    const struct blame *b = &s->blame;
    struct line_sum *sums = memory_zeroed((b->file_count + 1) * sizeof(*sums));
    uint64_t *lines = memory_zeroed((b->file_count + 1) * sizeof(*lines));
    double *weights = memory_zeroed((b->file_count + 1) * sizeof(*weights));

    for (uint32_t i = SCOPE_KINDS; i < b->line_count; i++) {
        line_sum_add(&sums[b->lines[i].file], &s->lines[i]);
        lines[b->lines[i].file] += !line_sum_is_empty(&s->lines[i]);
    }
    for (uint32_t i = 0; i < b->file_count + SCOPE_KINDS; i++) {
        bool file = i < b->file_count;
        const struct line_sum *sum = file ? &sums[i] : &s->lines[i - b->file_count];
        struct table_cell *c;

        if (file)
            weights[i] = s->cpu_known ? (double)sum->cpu.ns : (double)sum->allocated.bytes;
        if (line_sum_is_empty(sum))
            continue;
        c = table_add(a, t);
        line_sums_cells(s, &c[FILE_SUMS], sum);
        if (file)
            cell_number(&c[FILE_LINES], lines[i]);
        cell_text(&c[FILE_FILE],
                  file ? b->files[i].path : line_sums_kind(s, a->arena, i - b->file_count));
    }
    table_sort(t, FILE_SUMS + (s->cpu_known ? LINE_SUMS_CPU : LINE_SUMS_ALLOCATED));
    free(sums);
    free(lines);
    return weights;
}

/* ---- lines ---- */

static bool is_wanted(const struct line_sums *s, const struct line_sum *l,
                      const struct line_device *d)
{
    const struct scope_rules *rules = s->scope.rules;

    if (!line_device_is_empty(d))
        return true;
    if (line_sum_is_empty(l))
        return false;
    return !rules || !rules->reduced || (double)l->cpu.ns > (double)s->sum.cpu.ns * REDUCED_SHARE ||
           heap_blocks(&l->allocated) >= REDUCED_BLOCKS;
}

static int by_weight(const void *left, const void *right)
{
    const struct row *l = left, *r = right;

    if (l->weight < r->weight || l->weight > r->weight)
        return l->weight < r->weight ? 1 : -1;
    return l->line < r->line ? -1 : l->line > r->line;
}

static int by_place(const void *left, const void *right, const void *context)
{
    const struct row *l = left, *r = right;
    const struct blame *blame = context;
    const struct blame_line *x = &blame->lines[l->line], *y = &blame->lines[r->line];

    if (l->file_weight < r->file_weight || l->file_weight > r->file_weight)
        return l->file_weight < r->file_weight ? 1 : -1;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static double weight_of(const struct state *state, uint32_t line)
{
    const struct line_sums *s = &state->sums;
    double host = line_sums_weight(s, &s->lines[line]);
    double devices = line_devices_weight(&state->devices, &state->devices.lines[line]);

    return host > devices ? host : devices;
}

static void leave_out(struct rows *r, const struct state *state, uint32_t line)
{
    line_sum_add(&r->rest, &state->sums.lines[line]);
    line_device_add(&r->rest_devices, &state->devices.lines[line]);
    r->left++;
}

/* Those that matter: as many as the options say, the heaviest. */
static void choose(struct rows *r, const struct state *state, const double *weights)
{
    const struct line_sums *s = &state->sums;
    uint64_t most = s->heap->options.rows ? s->heap->options.rows : UINT64_MAX;
    size_t kept;

    r->rows = memory_zeroed(((size_t)s->blame.line_count + 1) * sizeof(*r->rows));
    for (uint32_t i = SCOPE_KINDS; i < s->blame.line_count; i++) {
        if (is_wanted(s, &s->lines[i], &state->devices.lines[i]))
            r->rows[r->count++] = (struct row){i, weight_of(state, i),
                                               weights[s->blame.lines[i].file]};
        else if (!line_sum_is_empty(&s->lines[i]))
            leave_out(r, state, i);
    }
    memory_sort(r->rows, r->count, sizeof(*r->rows), by_weight);
    kept = r->count > most ? (size_t)most : r->count;
    for (size_t i = kept; i < r->count; i++)
        leave_out(r, state, r->rows[i].line);
    r->count = kept;
    memory_sort_with(r->rows, r->count, sizeof(*r->rows), by_place, &s->blame);
}

static void add_line(struct answer *a, struct table *t, const struct state *state, uint32_t line)
{
    const struct line_sums *s = &state->sums;
    const struct blame_line *l = &s->blame.lines[line];
    const char *path = s->blame.files[l->file].path;
    struct table_cell *c = table_add(a, t);

    cell_text(&c[LINE_FILE], path);
    cell_number(&c[LINE_LINE], l->line);
    cell_text(&c[LINE_FUNCTION], s->blame.functions[l->function].name);
    line_sums_cells(s, &c[LINE_SUMS], &s->lines[line]);
    cell_series(&c[LINE_MEMORY], heap_series_of(&s->series, line));
    cell_text(&c[LINE_TEXT], table_source_line(answer_source(a, path), l->line));
    line_device_cells(&state->devices, &c[LINE_DEVICES], &state->devices.lines[line]);
}

static void add_rows(struct answer *a, struct table *t, const struct state *state,
                     const double *weights)
{
    const struct line_sums *s = &state->sums;
    const struct line_devices *d = &state->devices;
    struct rows r = {0};
    struct table_cell *c;

    choose(&r, state, weights);
    for (size_t i = 0; i < r.count; i++)
        add_line(a, t, state, r.rows[i].line);
    if (r.left) {
        c = table_add(a, t);
        cell_text(&c[LINE_FILE],
                  arena_printf(a->arena, "(%zu smaller line%s)", r.left, r.left == 1 ? "" : "s"));
        line_sums_cells(s, &c[LINE_SUMS], &r.rest);
        line_device_cells(d, &c[LINE_DEVICES], &r.rest_devices);
    }
    for (uint32_t i = 0; i < SCOPE_KINDS; i++) {
        if (line_sum_is_empty(&s->lines[i]) && line_device_is_empty(&d->lines[i]))
            continue;
        c = table_add(a, t);
        cell_text(&c[LINE_FILE], line_sums_kind(s, a->arena, (uint32_t)i));
        line_sums_cells(s, &c[LINE_SUMS], &s->lines[i]);
        line_device_cells(d, &c[LINE_DEVICES], &d->lines[i]);
        cell_series(&c[LINE_MEMORY], heap_series_of(&s->series, i));
    }
    free(r.rows);
}

static void begin(struct asked *q)
{
    line_devices_look(&((struct state *)q->state)->devices, q->recorded);
}

static void again(struct asked *q)
{
    struct state *state = q->state;

    line_sums_want(&state->sums, q->recorded, q->options, true);
    line_devices_want(&state->devices, q->recorded, &state->sums.blame);
}

static int run(struct asked *q, struct err *err)
{
    struct answer *a = q->answer;
    struct state *state = q->state;
    struct line_sums *s = &state->sums;
    struct table *facts = answer_facts(a, "facts");
    struct table *files = answer_add(a, "files", TABLE_ROWS, file_columns, COUNT(file_columns));
    struct table *lines;
    double *weights;

    (void)err;
    line_sums_read(s);
    line_devices_read(&state->devices);
    lines = answer_add(a, "lines", TABLE_SOURCE, columns,
                       LINE_DEVICES + line_device_width(&state->devices));
    line_cells_answer(a, s);
    if (line_sum_is_empty(&s->sum) && !line_device_width(&state->devices)) {
        lines->note =
            "The trace holds no allocations, no CPU time and no waits: 'tidemark record' records them.";
    } else {
        add_facts(a, facts, s);
        line_device_facts(&state->devices, a, facts);
        weights = add_files(a, files, s);
        add_rows(a, lines, state, weights);
        lines->note = line_sums_outside(s, a->arena);
        free(weights);
        function_rows_add(a, s);
    }
    line_devices_free(&state->devices);
    line_sums_free(s);
    return 0;
}

const struct question question_lines = {
    .name = "lines",
    .summary = "what each line of the program's source cost",
    .group = QUESTION_OF_SOURCE,
    .more =
        ": CPU time in Python, in native code and in the kernel, waiting, memory allocated and "
        "held at the peak, copies, and time and memory of devices where they are known; the default in text where there is Python",
    .reads = LINE_SUMS_READS,
    .state = sizeof(struct state),
    .begin = begin,
    .again = again,
    .run = run,
};
