/* line_cells - see line_cells.h. */
#include "questions/line_cells.h"

#include "questions/covered_answer.h"
#include "questions/heap_cells.h"

#include <string.h>

#define SHARE_LEAST 0.0005 /* that is worth a word */

void line_cells_answer(struct answer *a, const struct line_sums *s)
{
    const struct run *r = &s->recorded->run;
    const char *changed = names_find(r->names, TRACE_OF_RUN, FACT_SOURCES_CHANGED);

    covered_answer(a, r);
    a->sources = sources_end(&s->recorded->sources, changed);
    a->source_count = s->recorded->sources.count;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

/* ---- cells ---- */

static void cells_of_cpu(const struct line_sums *s, struct table_cell *c, const struct cpu_sums *l)
{
    if (s->cpu_known) {
        heap_cell_percent(&c[LINE_SUMS_CPU_PERCENT], (double)l->ns, (double)s->sum.cpu.ns);
        cell_number(&c[LINE_SUMS_CPU], l->ns);
        cell_number(&c[LINE_SUMS_PYTHON], l->kind_ns[TRACE_CPU_PYTHON]);
        cell_number(&c[LINE_SUMS_NATIVE], l->kind_ns[TRACE_CPU_NATIVE]);
        cell_number(&c[LINE_SUMS_SYSTEM], l->kind_ns[TRACE_CPU_SYSTEM]);
        if (l->ns)
            cell_real(&c[LINE_SUMS_CPU_ERROR_PERCENT], cpu_sums_error(l));
        cell_number(&c[LINE_SUMS_COPY_TIME], l->in_copy_ns);
    }
    if (s->waits_known)
        cell_number(&c[LINE_SUMS_WAITING], l->wait_ns);
    if (s->copies_known)
        cell_number(&c[LINE_SUMS_COPIED], l->copied);
}

void line_sums_cells(const struct line_sums *s, struct table_cell *c, const struct line_sum *l)
{
    cells_of_cpu(s, c, &l->cpu);
    if (!s->memory_known)
        return;
    heap_cell_bytes(&c[LINE_SUMS_ALLOCATED], &l->allocated);
    heap_cell_blocks(&c[LINE_SUMS_BLOCKS], &l->allocated);
    heap_cell_error(&c[LINE_SUMS_ALLOCATED_ERROR_PERCENT], &l->allocated);
    heap_cell_percent(&c[LINE_SUMS_PYTHON_PERCENT], (double)l->python.bytes,
                      (double)l->allocated.bytes);
    heap_cell_bytes(&c[LINE_SUMS_AT_PEAK], &l->at_peak);
    heap_cell_error(&c[LINE_SUMS_AT_PEAK_ERROR_PERCENT], &l->at_peak);
    if (s->heap->mapped)
        cell_number(&c[LINE_SUMS_MAPPED_AT_PEAK], l->mapped_at_peak);
    heap_cell_bytes(&c[LINE_SUMS_ALIVE], &l->alive);
}

/* ---- what is outside ---- */

static const char *and_share(struct arena *a, const char *so_far, uint64_t part, uint64_t whole,
                             const char *of)
{
    if (share(part, whole) < SHARE_LEAST)
        return so_far;
    return arena_printf(a, "%s%s%.1f %% of %s", so_far, *so_far ? ", " : "",
                        share(part, whole) * 100, of);
}

const char *line_sums_outside(const struct line_sums *s, struct arena *a)
{
    const struct scope_rules *rules = s->scope.rules;
    struct line_sum out = {0};
    const char *shares = "", *kinds = "";

    for (int kind = 0; kind < SCOPE_KINDS; kind++) {
        const char *text = line_sums_kind(s, a, (uint32_t)kind);

        if (line_sum_is_empty(&s->lines[kind]))
            continue;
        line_sum_add(&out, &s->lines[kind]);
        kinds = arena_printf(a, "%s%s%.*s", kinds, *kinds ? ", " : "", (int)strlen(text) - 2,
                             text + 1);
    }
    shares = and_share(a, shares, out.cpu.ns, s->sum.cpu.ns, "the CPU time");
    shares = and_share(a, shares, out.cpu.wait_ns, s->sum.cpu.wait_ns, "the waiting");
    shares = and_share(a, shares, out.allocated.bytes, s->sum.allocated.bytes,
                       "the allocated bytes");
    shares = and_share(a, shares, out.at_peak.bytes, s->sum.at_peak.bytes, "the peak");
    if (!*shares)
        return NULL;
    return arena_printf(a, "Under no line of the program's files: %s (%s)%s.", shares, kinds,
                        rules && rules->all ? "" : "; --all shows every file");
}
