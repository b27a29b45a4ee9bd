/* heap_summary - see heap_summary.h. */
#include "questions/heap_summary.h"
#include "base/count.h"

#include "model/covered.h"
#include "model/heap_counts.h"
#include "questions/heap_cells.h"

#include <inttypes.h>
#include <string.h>

#define SITES 5

enum { SITE_BYTES, SITE_PERCENT, SITE_BLOCKS, SITE_ERROR_PERCENT, SITE_ALLOCATED, SITE_SITE };

static const struct table_column site_columns[] = {
    [SITE_BYTES] = {"bytes", UNIT_BYTES},
    [SITE_PERCENT] = {"percent", UNIT_PERCENT},
    [SITE_BLOCKS] = {"blocks", UNIT_COUNT},
    [SITE_ERROR_PERCENT] = {"error_percent", UNIT_PERCENT},
    [SITE_ALLOCATED] = {"allocated", UNIT_BYTES},
    [SITE_SITE] = {"site", UNIT_TEXT},
};

static const char *who_was_recorded(struct arena *a, const struct heap *h)
{
    const struct table_coverage *c = covered(h->run);
    uint64_t missing;
    const char *line;

    if (!c)
        return NULL;
    missing = c->processes - c->recorded - c->partly - c->silent;
    line = arena_printf(a, "%" PRIu64 " process%s %s", c->recorded, c->recorded == 1 ? "" : "es",
                        c->how);
    if (c->partly)
        line = arena_printf(a, "%s, %" PRIu64 " in part", line, c->partly);
    return missing ? arena_printf(a, "%s, %" PRIu64 " could not be", line, missing) : line;
}

void heap_summary_before_end(struct answer *a, struct table *facts, const struct heap *h)
{
    const struct heap_amount alive = heap_worked_sum(h);

    if (alive.milliblocks == h->sums.live.milliblocks)
        return;
    heap_cell_bytes(table_fact(a, facts, "alive_before_end", UNIT_BYTES), &alive);
    heap_cell_blocks(table_fact(a, facts, "blocks_alive_before_end", UNIT_COUNT), &alive);
}

void heap_summary_facts(struct answer *a, struct table *facts, const struct heap *h)
{
    const struct heap_sums *s = &h->sums;
    double seconds = h->to_ns > h->from_ns ? (double)(h->to_ns - h->from_ns) / 1e9 : 0;
    struct table_cell *c;

    cell_text(table_fact(a, facts, "allocations_recorded", UNIT_TEXT),
              who_was_recorded(a->arena, h));
    heap_cell_bytes(table_fact(a, facts, "peak_heap", UNIT_BYTES), &h->peak);
    heap_cells_memory(a, facts, h, "peak_heap", h->peak_memory);
    if (h->files_most)
        cell_number(table_fact(a, facts, "most_mapped_of_files", UNIT_BYTES), h->files_most);
    if (h->reserved_most)
        cell_number(table_fact(a, facts, "most_reserved_addresses", UNIT_BYTES), h->reserved_most);
    cell_text(table_fact(a, facts, "peak_heap_basis", UNIT_TEXT), heap_peak_basis(h));
    heap_cell_whole_error(table_fact(a, facts, "peak_heap_error_percent", UNIT_PERCENT), h,
                          &h->peak);
    heap_cell_blocks(table_fact(a, facts, "peak_heap_blocks", UNIT_COUNT), &h->peak);
    heap_cell_blocks_error(table_fact(a, facts, "peak_heap_blocks_error_percent", UNIT_PERCENT), h,
                           &h->peak, HEAP_COUNTS_LEAST);
    if (covered_since(h->run))
        cell_text(table_fact(a, facts, "heap_since", UNIT_TEXT), covered_since(h->run));
    cell_number(table_fact(a, facts, "peak_heap_time", UNIT_NS), h->peak_ns);
    heap_cell_bytes(table_fact(a, facts, "heap_allocated", UNIT_BYTES), &s->allocated);
    cell_text(table_fact(a, facts, "heap_allocated_basis", UNIT_TEXT),
              heap_basis(h, &s->allocated));
    heap_cell_whole_error(table_fact(a, facts, "heap_allocated_error_percent", UNIT_PERCENT), h,
                          &s->allocated);
    heap_cell_blocks(table_fact(a, facts, "allocations", UNIT_COUNT), &s->allocated);
    heap_cell_blocks_error(table_fact(a, facts, "allocations_error_percent", UNIT_PERCENT), h,
                           &s->allocated, HEAP_COUNTS_LEAST);
    c = table_fact(a, facts, "allocations_per_second", UNIT_COUNT);
    if (seconds > 0)
        cell_rounded(c, (double)s->allocated.milliblocks / 1000 / seconds);
    c = table_fact(a, facts, "temporary_percent", UNIT_PERCENT);
    if (h->temporary_known)
        heap_cell_percent(c, (double)s->temporary.milliblocks, (double)s->allocated.milliblocks);
    c = table_fact(a, facts, "temporary_error_points", UNIT_PERCENT);
    if (h->temporary_known && h->sampled && s->allocated.milliblocks)
        cell_real(c, heap_share_error(&s->temporary, &s->allocated));
    heap_cell_bytes(table_fact(a, facts, "alive_at_end", UNIT_BYTES), &s->live);
    cell_text(table_fact(a, facts, "alive_at_end_basis", UNIT_TEXT), heap_basis(h, &s->live));
    heap_cell_whole_error(table_fact(a, facts, "alive_at_end_error_percent", UNIT_PERCENT), h,
                          &s->live);
    heap_cell_blocks(table_fact(a, facts, "blocks_alive_at_end", UNIT_COUNT), &s->live);
    heap_cell_blocks_error(table_fact(a, facts, "blocks_alive_at_end_error_percent", UNIT_PERCENT),
                           h, &s->live, HEAP_COUNTS_LEAST);
    heap_summary_before_end(a, facts, h);
    cell_number(table_fact(a, facts, "unknown_frees", UNIT_COUNT), h->unknown_frees);
    cell_number(table_fact(a, facts, "frees_of_inherited_blocks", UNIT_COUNT), h->heir_frees);
}

/* ---- the largest sites ---- */

static uint64_t weight_at(const struct heap_stack_sum *s)
{
    return s->at.bytes;
}

static void add_sites(struct answer *a, struct heap *h)
{
    struct table *t = answer_add(a, "peak_sites", TABLE_ROWS, site_columns, COUNT(site_columns));
    const struct heap_row *row;
    struct heap_rows rows;

    heap_rows_sites(&rows, h, weight_at, SITES);
    for (size_t i = 0; (row = heap_rows_at(&rows, i)); i++) {
        struct table_cell *c = table_add(a, t);

        heap_cell_bytes(&c[SITE_BYTES], &row->sum.at);
        heap_cell_percent(&c[SITE_PERCENT], (double)row->sum.at.bytes, (double)h->peak.bytes);
        heap_cell_blocks(&c[SITE_BLOCKS], &row->sum.at);
        heap_cell_error(&c[SITE_ERROR_PERCENT], &row->sum.at);
        heap_cell_bytes(&c[SITE_ALLOCATED], &row->sum.sums.allocated);
        heap_cell_site(&c[SITE_SITE], h, &rows, row);
    }
    t->note = "What held memory at the peak of the heap; the question 'peak' shows all stacks.";
}

void heap_summary_tables(struct answer *a, struct heap *h)
{
    heap_at(h, HEAP_AT_PEAK, 0);
    add_sites(a, h);
}
