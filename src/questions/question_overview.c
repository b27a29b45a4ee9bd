/* question_overview - the first screen: how much memory, when, which lines, what is wrong, what to
 * ask next. It fits 24 lines of a terminal; all that it says is said at length by other questions.
 */
#include "base/count.h"
#include "base/hash.h"
#include "base/intmap.h"
#include "base/memory.h"
#include "base/text.h"
#include "model/heap_rows.h"
#include "model/line_sums.h"
#include "questions/covered_answer.h"
#include "questions/findings.h"
#include "questions/headline.h"
#include "questions/heap_cells.h"
#include "questions/line_cells.h"
#include "questions/question.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINES 4
#define FINDINGS_SHOWN 3
#define SHARE_LEAST 0.005 /* of the whole: less is not worth a line here */
#define KIND_LEAST 0.1    /* from here on, what belongs to no line is shown among the lines */

struct overview {
    struct line_sums lines;
    struct findings findings;
};

/* ---- the sentence ---- */

static void add_headline(struct answer *a, const struct line_sums *s)
{
    struct table *t = answer_facts(a, "headline");

    t->note = headline(a->arena, s);
}

/* ---- lines ---- */

enum { MEMORY_AT_PEAK, MEMORY_PERCENT, MEMORY_ERROR_PERCENT, MEMORY_WHERE, MEMORY_TEXT };

static const struct table_column memory_columns[] = {
    [MEMORY_AT_PEAK] = {"at_peak", UNIT_BYTES},
    [MEMORY_PERCENT] = {"percent", UNIT_PERCENT},
    [MEMORY_ERROR_PERCENT] = {"error_percent", UNIT_PERCENT, .detail = true},
    [MEMORY_WHERE] = {"where", UNIT_TEXT},
    [MEMORY_TEXT] = {"text", UNIT_TEXT},
};

enum { CPU_TIME, CPU_PERCENT, CPU_ERROR_PERCENT, CPU_WHERE, CPU_TEXT };

static const struct table_column cpu_columns[] = {
    [CPU_TIME] = {"cpu", UNIT_NS},
    [CPU_PERCENT] = {"percent", UNIT_PERCENT},
    [CPU_ERROR_PERCENT] = {"error_percent", UNIT_PERCENT, .detail = true},
    [CPU_WHERE] = {"where", UNIT_TEXT},
    [CPU_TEXT] = {"text", UNIT_TEXT},
};

struct ranked {
    double value;
    uint32_t line; /* of blame */
};

static int by_value(const void *left, const void *right)
{
    const struct ranked *l = left, *r = right;

    if (l->value < r->value || l->value > r->value)
        return l->value < r->value ? 1 : -1;
    return l->line < r->line ? -1 : l->line > r->line;
}

static double memory_of(const struct line_sum *l)
{
    return (double)l->at_peak.bytes;
}

static double cpu_of(const struct line_sum *l)
{
    return (double)l->cpu.ns;
}

/* The lines that have most of it, the largest first; how many of `out` were filled. */
static int rank(const struct line_sums *s, double (*of)(const struct line_sum *),
                struct ranked out[LINES])
{
    struct ranked *all = memory_zeroed(((size_t)s->blame.line_count + 1) * sizeof(*all));
    double least = of(&s->sum) * SHARE_LEAST;
    size_t count = 0;

    for (uint32_t i = SCOPE_KINDS; i < s->blame.line_count; i++)
        if (of(&s->lines[i]) > least)
            all[count++] = (struct ranked){of(&s->lines[i]), i};
    for (uint32_t i = 0; i < SCOPE_KINDS && count; i++)
        if (of(&s->lines[i]) > of(&s->sum) * KIND_LEAST)
            all[count++] = (struct ranked){of(&s->lines[i]), i};
    memory_sort(all, count, sizeof(*all), by_value);
    count = count > LINES ? LINES : count;
    memcpy(out, all, count * sizeof(*all));
    free(all);
    return (int)count;
}

/* "file.py:12", and the text of that line; "(the standard library)". */
static void put_place(struct answer *a, const struct line_sums *s, uint32_t line,
                      struct table_cell *where, struct table_cell *text)
{
    const struct blame_line *l = &s->blame.lines[line];
    const char *path, *source;

    if (line < SCOPE_KINDS) {
        cell_text(where, line_sums_kind(s, a->arena, line));
        return;
    }
    path = s->blame.files[l->file].path;
    source = table_source_line(answer_source(a, path), l->line);
    cell_text(where, arena_printf(a->arena, "%s:%" PRIu64, text_source(path), l->line));
    cell_text(text, source ? source + strspn(source, " \t") : NULL);
}

static void add_memory_lines(struct answer *a, const struct line_sums *s, struct table *t)
{
    struct ranked best[LINES];
    int n = rank(s, memory_of, best);

    for (int i = 0; i < n; i++) {
        const struct heap_amount *at = &s->lines[best[i].line].at_peak;
        struct table_cell *c = table_add(a, t);

        heap_cell_bytes(&c[MEMORY_AT_PEAK], at);
        heap_cell_percent(&c[MEMORY_PERCENT], (double)at->bytes, (double)s->sum.at_peak.bytes);
        heap_cell_error(&c[MEMORY_ERROR_PERCENT], at);
        put_place(a, s, best[i].line, &c[MEMORY_WHERE], &c[MEMORY_TEXT]);
    }
}

static uint64_t weight_at(const struct heap_stack_sum *s)
{
    return s->at.bytes;
}

/* Of a program without lines: its functions. */
static void add_memory_sites(struct answer *a, struct heap *h, struct table *t)
{
    struct heap_rows rows;

    heap_at(h, HEAP_AT_PEAK, 0);
    heap_rows_sites(&rows, h, weight_at, LINES);
    for (size_t i = 0; i < rows.count; i++) {
        struct table_cell *c = table_add(a, t);

        heap_cell_bytes(&c[MEMORY_AT_PEAK], &rows.rows[i].sum.at);
        heap_cell_percent(&c[MEMORY_PERCENT], (double)rows.rows[i].sum.at.bytes,
                          (double)h->peak.bytes);
        heap_cell_error(&c[MEMORY_ERROR_PERCENT], &rows.rows[i].sum.at);
        heap_cell_site(&c[MEMORY_WHERE], h, &rows, &rows.rows[i]);
    }
}

static void add_memory(struct answer *a, const struct line_sums *s)
{
    struct table *t = answer_add(a, "memory_at_the_peak", TABLE_ROWS, memory_columns,
                                 COUNT(memory_columns));

    if (!s->memory_known)
        return;
    add_memory_lines(a, s, t);
    if (!t->rows)
        add_memory_sites(a, s->heap, t);
}

static const char *function_name(struct answer *a, uint64_t stack, const struct table_frame *site)
{
    if (!stack)
        return "(stack not known)";
    if (!site->function && !site->module)
        return "(code without a file)";
    return table_frame_text(a->arena, site);
}

/* Of a program without lines: its functions, the innermost that are nobody's plumbing. */
static void add_cpu_functions(struct answer *a, const struct line_sums *s, struct table *t)
{
    struct intmap places = {0};
    uint64_t place;

    for (size_t i = 0; i < s->time->count; i++) {
        const struct cpu_entry *e = &s->time->entries[i];
        struct table_frame site = frames_site(s->frames, e->stack);
        const char *name = function_name(a, e->stack, &site);
        uint64_t key = hash_bytes(HASH_START, name, strlen(name));
        struct table_cell *c;

        if (!e->sums.ns)
            continue;
        if (!intmap_get(&places, key, &place)) {
            place = (uint64_t)t->rows;
            intmap_put(&places, key, place);
            c = table_add(a, t);
            cell_number(&c[CPU_TIME], 0);
            cell_text(&c[CPU_WHERE], name);
        }
        c = &t->cells[place * (size_t)t->width];
        cell_number(&c[CPU_TIME], c[CPU_TIME].number + e->sums.ns);
        heap_cell_percent(&c[CPU_PERCENT], (double)c[CPU_TIME].number, (double)s->sum.cpu.ns);
    }
    intmap_free(&places);
    table_sort(t, CPU_TIME);
    t->rows = t->rows < LINES ? t->rows : LINES;
}

static void add_cpu(struct answer *a, const struct line_sums *s)
{
    struct table *t = answer_add(a, "cpu_time", TABLE_ROWS, cpu_columns, COUNT(cpu_columns));
    struct ranked best[LINES];
    int n = s->cpu_known ? rank(s, cpu_of, best) : 0;

    for (int i = 0; i < n; i++) {
        const struct cpu_sums *cpu = &s->lines[best[i].line].cpu;
        struct table_cell *c = table_add(a, t);

        cell_number(&c[CPU_TIME], cpu->ns);
        heap_cell_percent(&c[CPU_PERCENT], (double)cpu->ns, (double)s->sum.cpu.ns);
        cell_real(&c[CPU_ERROR_PERCENT], cpu_sums_error(cpu));
        put_place(a, s, best[i].line, &c[CPU_WHERE], &c[CPU_TEXT]);
    }
    if (!n && s->cpu_known)
        add_cpu_functions(a, s, t);
}

/* ---- what is wrong, and what next ---- */

static void add_findings(struct answer *a, struct overview *o)
{
    findings_read(&o->findings, &o->lines, a);
    findings_table(&o->findings, a, FINDINGS_SHOWN);
}

static void add_next(struct answer *a, const struct heap *h, const struct line_sums *lines)
{
    struct table *t = answer_facts(a, "next");

    if (h->any)
        t->note = "Ask next: findings, peak, tree, leaks, lines, functions, cpu, waits, resident.";
    else if (lines->cpu_known)
        t->note = "Ask next: findings, lines, functions, cpu, waits, processes, timeline.";
    else if (a->coverage)
        t->note = "Ask next: processes, timeline.";
    else
        t->note = "Ask next: processes, timeline; 'tidemark record' shows which lines it was.";
}

static void begin(struct asked *q)
{
    findings_begin(&((struct overview *)q->state)->findings, q->recorded);
}

static void again(struct asked *q)
{
    struct overview *o = q->state;

    line_sums_want(&o->lines, q->recorded, q->options, false);
    findings_again(&o->findings);
}

static int run(struct asked *q, struct err *err)
{
    struct overview *o = q->state;
    struct answer *a = q->answer;
    struct heap *h = &q->recorded->heap;

    (void)err;
    line_sums_read(&o->lines);
    if (h->any)
        heap_at(h, HEAP_AT_PEAK, 0);
    line_cells_answer(a, &o->lines);
    add_headline(a, &o->lines);
    add_findings(a, o);
    add_memory(a, &o->lines);
    add_cpu(a, &o->lines);
    add_next(a, h, &o->lines);
    line_sums_free(&o->lines);
    return 0;
}

const struct question question_overview = {
    .name = "overview",
    .summary = "the first screen: how much, when, which lines, what is wrong",
    .group = QUESTION_OF_TRACE,
    .more = "; where nothing is asked, text begins with it",
    .reads = LINE_SUMS_READS | RECORDED_REGIONS,
    .state = sizeof(struct overview),
    .begin = begin,
    .again = again,
    .run = run,
};
