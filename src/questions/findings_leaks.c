/* findings_leaks - what deserves a look of memory that is kept: growing, never freed, lost. */
#include "base/text.h"
#include "questions/finding_rules.h"

#include <inttypes.h>

#define MUCH_LEAKED 10.0          /* percent of the peak */
#define MUCH_LEAKED_BYTES 1048576 /* and not less than this */
#define LOST_LEAST ((uint64_t)64 << 10)

static uint64_t weight_live(const struct heap_stack_sum *s)
{
    return s->sums.live.bytes;
}

static uint64_t weight_lost(const struct heap_stack_sum *s)
{
    return s->unreached.bytes;
}

static bool is_much(const struct heap *h, uint64_t bytes)
{
    return bytes >= MUCH_LEAKED_BYTES && (double)bytes * 100 >= (double)h->peak.bytes * MUCH_LEAKED;
}

static double share_of_peak(const struct heap *h, uint64_t bytes)
{
    return h->peak.bytes ? (double)bytes / (double)h->peak.bytes * 100 : 0;
}

static const char *within(struct arena *a, const struct leak_verdict *v)
{
    if (v->within == LEAK_IN_STEPS)
        return arena_printf(a, " from step to step%s%s", v->name && *v->name ? " of " : "",
                            v->name ? v->name : "");
    if (v->within == LEAK_IN_REGION)
        return arena_printf(a, " with each run of the region%s%s", v->name && *v->name ? " " : "",
                            v->name ? v->name : "");
    return v->within == LEAK_IN_LAST_PART ? " in the last part of the run" : "";
}

/* When the last interpreter began to end: what it then frees its program has kept. 0: there is
 * none.
 */
static uint64_t worked_until(const struct heap *h)
{
    uint64_t last_ns = 0;

    for (size_t i = 0; i < h->process_count; i++)
        if (h->processes[i]->worked_ns > last_ns)
            last_ns = h->processes[i]->worked_ns;
    return last_ns;
}

/* The first row of `leaks` in words. */
static void say_growing(struct findings *f, const struct leak_rows *l)
{
    const struct heap_row *row = &l->rows.rows[0];
    struct arena *a = f->answer->arena;
    char size[TEXT_SIZE], slope[TEXT_SIZE];
    struct leak_verdict v;
    struct finding one = {.severity = FINDING_HIGH,
                          .view = "leaks",
                          .measure = "kept",
                          .look_at = "leaks",
                          .confidence = "likely"};
    const char *site;

    if (!l->rows.count || !leak_rows_judge(l, row, &v))
        return;
    site = row->stack ? findings_site(a, &row->site) : "stacks that are not known";
    findings_at_stack(f, &one, row);
    one.to_ns = worked_until(&f->recorded->heap);
    text_size(size, l->growing_bytes);
    text_size(slope, text_rounded(v.slope));
    one.kind = v.within == LEAK_IN_STEPS || v.within == LEAK_IN_REGION ? "grows_in" : "grows";
    one.title = arena_printf(a, "Memory from %s grows%s", site, within(a, &v));
    one.evidence = arena_printf(
        a,
        "%s of what was alive at the end still grew, most of it from %s, by "
        "%s per second",
        size, site, slope);
    one.advice =
        "Find who keeps it: a list, a cache without a limit, or a block that nobody frees.";
    findings_add(f, &one);
}

static const char *trend_text(enum leak_trend trend)
{
    static const char *const texts[] = {
        [LEAK_STEADY] = "steady",
        [LEAK_GREW_ONCE] = "grew once",
        [LEAK_UNCLEAR] = "unclear",
        [LEAK_GROWING] = "growing",
    };

    return texts[trend];
}

static bool has_verdict(const struct findings *f, uint32_t line)
{
    for (int i = 0; i < f->verdict_count; i++)
        if (f->verdicts[i].line == line)
            return true;
    return false;
}

/* Of each line that of its first row: growing ones come first, then the largest. */
static void note_verdicts(struct findings *f)
{
    const struct heap_rows *rows = &f->leaks.rows;

    for (size_t i = 0; i < rows->count && f->verdict_count < FINDINGS_VERDICTS; i++) {
        const struct heap_row *row = &rows->rows[i];
        uint32_t line = row->stack ? f->lines->holders.lines[row->stack] : 0;
        struct leak_verdict v;

        if (line < SCOPE_KINDS || has_verdict(f, line) || !leak_rows_judge(&f->leaks, row, &v))
            continue;
        f->verdicts[f->verdict_count++] = (struct page_verdict){line, trend_text(v.trend),
                                                                1 - v.chance, v.slope};
    }
}

/* Several processes hold at their ends what they never held together. */
static const char *when_alive(const struct findings *f, uint64_t live)
{
    const struct heap *h = &f->recorded->heap;
    double share;

    if (h->process_count > 1)
        return arena_printf(f->answer->arena, "when %zu processes ended, taken together",
                            h->process_count);
    share = share_of_peak(h, live); /* both are estimates where it is sampled */
    return arena_printf(f->answer->arena, "at the end, %.0f %% of the peak",
                        share < 100 ? share : 100);
}

/* A process that somebody ended could not free anything. */
static bool was_killed(const struct heap *h)
{
    const struct run_process *r = h->process_count == 1 ? h->processes[0]->run : NULL;

    return r && r->ended && (r->end == TRACE_END_SIGNALED || r->end == TRACE_END_OOM);
}

/* What a Python program held until the interpreter freed it is only worth a word where it grew:
 * each holds most of its peak then. What little each of many processes leaves adds up, but is
 * nobody's leak.
 */
static void find_leaks(struct findings *f)
{
    struct heap *h = &f->recorded->heap;
    struct leak_rows *l = &f->leaks;
    uint64_t live = h->sums.live.bytes - heap_execed_sum(h).bytes, growing = 0;
    struct finding one = {.kind = "leak",
                          .severity = FINDING_LOW,
                          .view = "leaks",
                          .measure = "end",
                          .look_at = "leaks",
                          .confidence = findings_sure(h)};
    char size[TEXT_SIZE];

    if (l->growth.heap && is_much(h, heap_at_asked(h, HEAP_AT_WORKED).bytes)) {
        leak_rows_read(l, NULL, FINDINGS_VERDICTS);
        growing = l->growing_bytes;
        f->known = l->known.sum;
        if (f->lines)
            note_verdicts(f);
        if (is_much(h, growing))
            say_growing(f, l);
    }
    leak_rows_free(l);
    if (is_much(h, growing) || !is_much(h, live) || was_killed(h))
        return;
    text_size(size, live);
    one.title = arena_printf(f->answer->arena, "%s were never freed", size);
    one.evidence = arena_printf(
        f->answer->arena, "%s were alive %s, %s; most of it from %s", size, when_alive(f, live),
        growing ? "and little of it still grew" : "but none of it still grew",
        findings_largest(f, weight_live, &one));
    one.advice =
        "Harmless in a program that ends anyway; not in one that does this again and again.";
    findings_add(f, &one);
}

/* What nothing pointed to can never be freed. */
static void find_lost(struct findings *f)
{
    struct heap *h = &f->recorded->heap;
    struct heap_amount lost = {0};
    struct finding one = {.kind = "lost",
                          .severity = FINDING_HIGH,
                          .view = "leaks",
                          .measure = "end",
                          .look_at = "leaks",
                          .confidence = findings_sure(h)};
    char size[TEXT_SIZE];

    for (size_t i = 0; i < h->stack_count; i++) {
        const struct heap_count unreached = heap_stack_unreached(h, &h->stacks[i]);

        lost.bytes += unreached.bytes;
        lost.milliblocks += unreached.milliblocks;
    }
    if (!heap_reach_known(h) || lost.bytes < LOST_LEAST)
        return;
    text_size(size, lost.bytes);
    one.title = arena_printf(f->answer->arena, "%s are lost: nothing points to them", size);
    one.evidence = arena_printf(f->answer->arena,
                                "nothing pointed to %s in %" PRIu64
                                " blocks any more; most of it from %s",
                                size, heap_blocks(&lost), findings_largest(f, weight_lost, &one));
    one.advice = "Free these blocks before the last pointer to them goes.";
    findings_add(f, &one);
}

/* Whether it is much is known for certain only with the peak, which may take the events again as
 * well.
 */
void findings_want_leaks(struct findings *f)
{
    struct heap *h = &f->recorded->heap;

    heap_want(h, HEAP_AT_PEAK, 0);
    heap_want_asked(h, HEAP_AT_WORKED);
    if (h->process_count > 1 || h->options.at == SELECTION_AT_TIME ||
        is_much(h, heap_at_asked(h, HEAP_AT_WORKED).bytes))
        leak_rows_want(&f->leaks, f->recorded, NULL);
}

void findings_of_leaks(struct findings *f)
{
    find_leaks(f);
    find_lost(f);
}
