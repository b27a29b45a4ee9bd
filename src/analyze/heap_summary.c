/* heap_summary - see heap_summary.h. What is odd has limits below which nobody should be bothered;
 * they are named here.
 */
#include "analyze/heap_summary.h"

#include "analyze/covered.h"
#include "analyze/leak_rows.h"
#include "base/text.h"

#include <inttypes.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define SITES 5
#define PAGE 4096.0

#define MANY_BLOCKS 10000         /* fewer allocations than this are no churn */
#define MUCH_TEMPORARY 20.0       /* percent of all allocations */
#define MUCH_LEAKED 10.0          /* percent of the peak */
#define MUCH_LEAKED_BYTES 1048576 /* and not less than this */
#define FAULTS_PER_PAGE 4.0       /* minor faults for each page of the largest resident memory */
#define FAULTS_LEAST 100000
#define RSS_PER_HEAP 3.0 /* largest resident memory to largest heap */
#define RSS_LEAST (64u << 20)
#define MANY_MAPS 10000
#define MUCH_FREE 50.0 /* percent of the [heap] that is resident */
#define FREE_LEAST (16u << 20)

static const struct table_column site_columns[] = {
    {"bytes", UNIT_BYTES},           {"percent", UNIT_PERCENT}, {"blocks", UNIT_COUNT},
    {"error_percent", UNIT_PERCENT}, {"allocated", UNIT_BYTES}, {"site", UNIT_TEXT},
};

static const struct table_column odd_columns[] = {{"what", UNIT_TEXT}, {"look_at", UNIT_TEXT}};

static const char *who_was_recorded(struct arena *a, const struct heap *h)
{
    const struct table_coverage *c = covered(&h->run);
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

void heap_summary_facts(struct answer *a, struct table *facts, const struct heap *h)
{
    const struct heap_sums *s = &h->sums;
    double seconds = h->to_ns > h->from_ns ? (double)(h->to_ns - h->from_ns) / 1e9 : 0;
    struct table_cell *c;

    cell_text(table_fact(a, facts, "allocations_recorded", UNIT_TEXT),
              who_was_recorded(a->arena, h));
    heap_cell_bytes(table_fact(a, facts, "peak_heap", UNIT_BYTES), &h->peak);
    cell_text(table_fact(a, facts, "peak_heap_basis", UNIT_TEXT), heap_peak_basis(h));
    cell_number(table_fact(a, facts, "peak_heap_time", UNIT_NS), h->peak_ns);
    heap_cell_bytes(table_fact(a, facts, "heap_allocated", UNIT_BYTES), &s->allocated);
    cell_text(table_fact(a, facts, "heap_allocated_basis", UNIT_TEXT),
              heap_basis(h, &s->allocated));
    heap_cell_error(table_fact(a, facts, "heap_allocated_error_percent", UNIT_PERCENT),
                    &s->allocated);
    heap_cell_blocks(table_fact(a, facts, "allocations", UNIT_COUNT), &s->allocated);
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
    heap_cell_blocks(table_fact(a, facts, "blocks_alive_at_end", UNIT_COUNT), &s->live);
    cell_number(table_fact(a, facts, "unknown_frees", UNIT_COUNT), h->unknown_frees);
    cell_number(table_fact(a, facts, "frees_of_inherited_blocks", UNIT_COUNT), h->heir_frees);
}

/* ---- the largest sites ---- */

static uint64_t weight_at(const struct heap_stack *s)
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

        heap_cell_bytes(&c[0], &row->sum.at);
        heap_cell_percent(&c[1], (double)row->sum.at.bytes, (double)h->peak.bytes);
        heap_cell_blocks(&c[2], &row->sum.at);
        heap_cell_error(&c[3], &row->sum.at);
        heap_cell_bytes(&c[4], &row->sum.sums.allocated);
        heap_cell_site(&c[5], h, &rows, row);
    }
    t->note = "What held memory at the peak of the heap; the question 'peak' shows all stacks.";
}

/* ---- what is odd ---- */

struct odd {
    struct answer *answer;
    struct table *table;
    struct heap *heap;
};

static void say(struct odd *o, const char *what, const char *look_at)
{
    struct table_cell *c = table_add(o->answer, o->table);

    cell_text(&c[0], what);
    cell_text(&c[1], look_at);
}

static uint64_t weight_live(const struct heap_stack *s)
{
    return s->sums.live.bytes;
}

static uint64_t weight_temporary(const struct heap_stack *s)
{
    return s->sums.temporary.milliblocks;
}

/* The largest site by a weight, as text. */
static const char *largest(struct odd *o, heap_weight *weight)
{
    struct heap_rows rows;

    heap_rows_sites(&rows, o->heap, weight, 1);
    if (!rows.count || !rows.rows[0].stack)
        return "stacks that are not known";
    return table_frame_text(o->answer->arena, &rows.rows[0].site);
}

static bool is_much(const struct heap *h, uint64_t bytes)
{
    return bytes >= MUCH_LEAKED_BYTES && (double)bytes * 100 >= (double)h->peak.bytes * MUCH_LEAKED;
}

static double share_of_peak(const struct heap *h, uint64_t bytes)
{
    return h->peak.bytes ? (double)bytes / (double)h->peak.bytes * 100 : 0;
}

/* The first row of `leaks` in words. */
static void say_growing(struct odd *o, const struct leak_rows *l)
{
    const struct heap_row *row = &l->rows.rows[0];
    char size[TEXT_SIZE], slope[TEXT_SIZE];
    struct table_cell site = {0};
    struct leak_verdict v;

    if (!l->rows.count || !leak_rows_judge(l, row, &v))
        return;
    heap_cell_site(&site, o->heap, &l->rows, row);
    say(o,
        arena_printf(o->answer->arena,
                     "%s of what was alive at the end still grew (%" PRIu64 " stack%s); most of it "
                     "from %s, by %s per second",
                     text_size(size, l->growing_bytes), l->growing_stacks,
                     l->growing_stacks == 1 ? "" : "s",
                     site.present ? site.text : "stacks that are not known",
                     text_size(slope, v.slope > 0 ? (uint64_t)v.slope : 0)),
        "leaks");
}

/* What the question `leaks` would say. What a Python program held until the interpreter freed it is
 * only worth a word where it grew: each holds most of its peak then.
 */
static void say_leaks(struct odd *o, struct trace *t)
{
    struct heap *h = o->heap;
    uint64_t live = h->sums.live.bytes, growing = 0;
    char size[TEXT_SIZE];
    struct leak_rows l;

    if (is_much(h, heap_at_asked(h, t, HEAP_AT_WORKED).bytes)) {
        leak_rows_read(&l, h, t, NULL, 1);
        growing = l.growing_bytes;
        if (is_much(h, growing))
            say_growing(o, &l);
        leak_rows_free(&l);
    }
    if (is_much(h, growing) || !is_much(h, live))
        return;
    say(o,
        arena_printf(o->answer->arena,
                     "%s were alive at the end, %.0f %% of the peak, %s; most of it from %s",
                     text_size(size, live), share_of_peak(h, live),
                     growing ? "and little of it still grew" : "but none of it still grew",
                     largest(o, weight_live)),
        "leaks");
}

static void say_temporary(struct odd *o)
{
    const struct heap_sums *s = &o->heap->sums;
    double share = s->allocated.milliblocks ? heap_share(&s->temporary, &s->allocated) : 0;

    if (!o->heap->temporary_known || heap_blocks(&s->allocated) < MANY_BLOCKS ||
        share - 2 * heap_share_error(&s->temporary, &s->allocated) < MUCH_TEMPORARY)
        return;
    say(o,
        arena_printf(o->answer->arena,
                     "%.0f %% of all allocations were freed before the next one; most of them from "
                     "%s",
                     share, largest(o, weight_temporary)),
        "temporary");
}

static bool peak_rss(const struct run *r, uint64_t *bytes)
{
    uint64_t most = 0, one;

    for (size_t i = 0; i < r->process_count; i++)
        if (metrics_get(&r->processes[i]->most, METRIC_RSS_PEAK, &one) && one > most)
            most = one;
    metrics_get(&r->final, METRIC_PEAK_LOWER, &most);
    *bytes = most;
    return most > 0;
}

/* Pages that are given back to the kernel and taken again cost a fault each time. */
static void say_faults(struct odd *o)
{
    uint64_t faults, rss;

    if (!run_total(&o->heap->run, METRIC_MINOR_FAULTS, &faults) || faults < FAULTS_LEAST ||
        !peak_rss(&o->heap->run, &rss) || (double)faults * PAGE < (double)rss * FAULTS_PER_PAGE)
        return;
    say(o,
        arena_printf(o->answer->arena,
                     "%" PRIu64 " minor faults are %.0f for each page of the largest resident "
                     "memory: pages are given back and taken again",
                     faults, (double)faults * PAGE / (double)rss),
        "timeline");
}

static void say_resident(struct odd *o)
{
    uint64_t rss;
    char resident[TEXT_SIZE], heap[TEXT_SIZE];

    if (!peak_rss(&o->heap->run, &rss) || rss < RSS_LEAST ||
        (double)rss < (double)o->heap->peak.bytes * RSS_PER_HEAP)
        return;
    say(o,
        arena_printf(o->answer->arena,
                     "the largest resident memory, %s, is far more than the largest heap, %s: "
                     "fragmentation, or memory that is no heap",
                     text_size(resident, rss), text_size(heap, o->heap->peak.bytes)),
        "resident");
}

static void say_fragments(struct odd *o, const struct heap_summary_held *h)
{
    char idle[TEXT_SIZE], held[TEXT_SIZE];
    uint64_t bytes = h->held > h->live ? h->held - h->live : 0;
    double share = h->held ? (double)bytes / (double)h->held * 100 : 0;

    if (!h->known || bytes < FREE_LEAST || share < MUCH_FREE)
        return;
    say(o,
        arena_printf(o->answer->arena,
                     "at least %s, %.0f %% of the %s that malloc held in its heap, were free but "
                     "not given back: fragmentation",
                     text_size(idle, bytes), share, text_size(held, h->held)),
        "resident");
}

/* A process that ran before, or went on while nothing was recorded, has blocks that nobody saw. */
static bool is_expected(const struct run *r)
{
    return r->pauses || names_find(&r->names, TRACE_OF_RUN, "attached");
}

static void say_records(struct odd *o)
{
    struct arena *a = o->answer->arena;

    if (o->heap->maps > MANY_MAPS)
        say(o, arena_printf(a, "memory was mapped %" PRIu64 " times", o->heap->maps), "timeline");
    if (o->heap->unknown_frees && !is_expected(&o->heap->run))
        say(o,
            arena_printf(a,
                         "%" PRIu64 " free%s of blocks that were not seen to live: they are older "
                         "than the recording, or what is known of them was lost",
                         o->heap->unknown_frees, o->heap->unknown_frees == 1 ? "" : "s"),
            "processes");
    if (o->heap->left_out + o->heap->frames.left_out)
        say(o,
            arena_printf(a,
                         "%" PRIu64 " records name what the trace does not have, and are left "
                         "out",
                         o->heap->left_out + o->heap->frames.left_out),
            NULL);
}

void heap_summary_tables(struct answer *a, struct heap *h, struct trace *t,
                         const struct heap_summary_held *held)
{
    struct odd o = {.answer = a, .heap = h};

    add_sites(a, h);
    o.table = answer_add(a, "odd", TABLE_ROWS, odd_columns, COUNT(odd_columns));
    say_leaks(&o, t);
    say_temporary(&o);
    say_faults(&o);
    say_resident(&o);
    say_fragments(&o, held);
    say_records(&o);
}
