/* findings_leaks - what deserves a look of memory that is kept: growing, never freed, lost. */
#include "base/text.h"
#include "questions/finding_rules.h"

#include <inttypes.h>

#define MUCH_LEAKED 10.0          /* percent of the peak */
#define MUCH_LEAKED_BYTES 1048576 /* and not less than this */
#define LOST_LEAST ((uint64_t)64 << 10)
#define SITES_MOST 16    /* that are judged as a whole: each holds a tenth of the peak */
#define UNCLEAR_SHARE 10 /* of what was alive: less is not spoken of */
#define GONE_MOST 0.1    /* of what a site holds: what lived for a while and was freed */

/* By what they hold, those that hold nothing any more with them. */
static uint64_t weight_held(const struct heap_stack_sum *s)
{
    return s->at.bytes + 1;
}

/* What was mapped a process gives back when it ends: that is no leak. */
static uint64_t weight_heap(const struct heap_stack_sum *s)
{
    uint64_t mapped = s->at_mapped + s->at_shared;

    return s->at.bytes > mapped ? s->at.bytes - mapped : 0;
}

static uint64_t weight_lost(const struct heap_stack_sum *s)
{
    return s->unreached.bytes;
}

static bool is_much(const struct heap *h, uint64_t bytes)
{
    return bytes >= MUCH_LEAKED_BYTES && (double)bytes * 100 >= (double)h->peak.bytes * MUCH_LEAKED;
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

static void say_growing(struct findings *f, const struct heap_row *row,
                        const struct leak_verdict *v, const char *what, const char *look_at)
{
    struct arena *a = f->answer->arena;
    char slope[TEXT_SIZE];
    struct finding one = {.severity = FINDING_HIGH,
                          .view = "leaks",
                          .measure = "kept",
                          .look_at = look_at,
                          .confidence = "likely"};
    const char *site = row->stack ? table_site_text(a, &row->site) : "unknown stacks";

    findings_at_stack(f, &one, row);
    one.to_ns = worked_until(&f->recorded->heap);
    one.kind = v->within == LEAK_IN_STEPS || v->within == LEAK_IN_REGION ? "grows_in" : "grows";
    one.title = arena_printf(a, "Memory from %s grows%s", site, within(a, v));
    one.evidence = arena_printf(a, "%s %s, by %s per second", what, site,
                                text_size(slope, text_rounded(v->slope)));
    one.advice =
        "Find who keeps it: a list, a cache without a limit, or a block that nobody frees.";
    findings_add(f, &one);
}

/* Whether some process was an interpreter, which frees what it has before it ends. */
static bool had_interpreters(const struct heap *h)
{
    for (size_t i = 0; i < h->process_count; i++)
        if (h->processes[i]->worked_ns && !h->processes[i]->execed)
            return true;
    return false;
}

/* The first row of `leaks` in words. */
static void say_growing_stacks(struct findings *f, const struct leak_rows *l)
{
    struct leak_verdict v;
    char size[TEXT_SIZE];

    if (!l->rows.count || !leak_rows_judge(l, &l->rows.rows[0], &v))
        return;
    text_size(size, l->growing_bytes);
    say_growing(f, &l->rows.rows[0], &v,
                arena_printf(f->answer->arena,
                             "%s of what was alive %s still grew, most of it from", size,
                             had_interpreters(&f->recorded->heap) ? "before the interpreter ended"
                                                                  : "at the end"),
                "leaks");
}

/* Growth is followed of stacks that hold something at the end. Where others held much meanwhile, as
 * in a queue of a fixed length, these would seem to grow.
 */
static bool is_followed(const struct heap_stack_sum *s)
{
    uint64_t stayed = s->at.bytes + s->sums.temporary.bytes;

    return (double)s->sums.allocated.bytes <= (double)stayed + (double)s->at.bytes * GONE_MOST;
}

/* A virtual machine's own pools are mapped, and grow until it has warmed up. */
static bool is_heap(const struct heap_stack_sum *s)
{
    return s->at_mapped + s->at_shared < s->at.bytes / 2;
}

/* What no stack shows by itself, its few samples being many stacks', the line that made all of them
 * may. False: none does.
 */
static bool say_growing_site(struct findings *f, const struct leak_rows *l)
{
    const struct heap *h = &f->recorded->heap;
    struct heap_rows sites;

    heap_rows_sites_linked(&sites, &f->recorded->heap, weight_held, SITES_MOST);
    for (size_t i = 0; i < sites.count && is_much(h, sites.rows[i].sum.at.bytes); i++) {
        const struct heap_row *row = &sites.rows[i];
        struct leak_verdict v;
        char size[TEXT_SIZE];

        if (!row->stack || row->stacks < 2 || !is_heap(&row->sum) || !is_followed(&row->sum) ||
            !leak_rows_judge(l, row, &v) || v.trend != LEAK_GROWING)
            continue;
        say_growing(f, row, &v,
                    arena_printf(f->answer->arena,
                                 "%s in %llu stacks, none of which is judged to grow by itself, "
                                 "still grew together from",
                                 text_size(size, row->sum.at.bytes),
                                 (unsigned long long)row->stacks),
                    "sites");
        return true;
    }
    return false;
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

/* A process that somebody ended could not free anything; one that became another by exec(2), or
 * whose recording ended before it did, is not at its end; and what an interpreter leaves when it
 * has freed what its program held is what its modules keep on purpose.
 */
static bool may_leak(const struct heap_process *p)
{
    return !p->execed && !p->worked_ns && p->run && p->run->ended &&
           (p->run->end == TRACE_END_EXITED || p->run->end == TRACE_END_UNKNOWN);
}

/* The process that left most behind; NULL: none may be said to. What little each of many leaves
 * adds up, but is nobody's leak.
 */
static const struct heap_process *leaker(const struct heap *h)
{
    const struct heap_process *most = NULL;

    for (size_t i = 0; i < h->process_count; i++) {
        const struct heap_process *p = h->processes[i];

        if (may_leak(p) && (!most || p->sums.live.bytes > most->sums.live.bytes))
            most = p;
    }
    return most && is_much(h, most->sums.live.bytes) ? most : NULL;
}

/* What a process left on its heap; 0: not known. Only of all of them together is it told apart from
 * what was mapped.
 */
static uint64_t left_by(struct heap *h, const struct heap_process *p)
{
    uint64_t heap;

    heap_at(h, HEAP_AT_END, 0);
    heap = h->at_memory[TRACE_MEMORY_HEAP].bytes;
    if (h->process_count == 1)
        return heap;
    return h->at_memory[TRACE_MEMORY_MAPPED].bytes + h->at_memory[TRACE_MEMORY_SHARED].bytes <
                   heap / 10
             ? p->sums.live.bytes
             : 0;
}

/* "at the end, 40 % of the peak"; of several processes, whose end it was. */
static const char *when_alive(const struct findings *f, const struct heap_process *p, uint64_t left)
{
    double share = p->peak.bytes ? (double)left / (double)p->peak.bytes * 100 /* both estimates */
                                 : 0;

    share = share < 100 ? share : 100;
    if (f->recorded->heap.process_count < 2 || !p->run || !p->run->name)
        return arena_printf(f->answer->arena, "at the end, %.0f %% of the peak", share);
    return arena_printf(f->answer->arena, "when %s (%" PRIu64 ") ended, %.0f %% of its peak",
                        p->run->name, p->run->pid, share);
}

/* As `leaks` judges it. */
static const char *whether_it_grew(const struct leak_rows *l)
{
    if (l->growing_bytes)
        return "and little of it still grew";
    return l->unclear_bytes > l->alive.bytes / UNCLEAR_SHARE
             ? "and whether it still grew is unclear"
             : "but none of it still grew";
}

static void say_leak(struct findings *f, const struct heap_process *p, uint64_t left,
                     const char *grew)
{
    struct heap *h = &f->recorded->heap;
    struct finding one = {.kind = "leak",
                          .severity = FINDING_LOW,
                          .view = "leaks",
                          .measure = "end",
                          .look_at = "leaks",
                          .confidence = findings_sure(h)};
    char size[TEXT_SIZE];

    text_size(size, left);
    one.title = arena_printf(f->answer->arena, "%s were never freed", size);
    one.evidence = arena_printf(f->answer->arena, "%s were alive %s, %s; most %sis from %s", size,
                                when_alive(f, p, left), grew,
                                h->process_count > 1 ? "of what all processes left " : "of it ",
                                findings_largest(f, weight_heap, &one));
    one.advice =
        "Harmless in a program that ends anyway; not in one that does this again and again.";
    findings_add(f, &one);
}

static void find_leaks(struct findings *f)
{
    struct heap *h = &f->recorded->heap;
    struct leak_rows *l = &f->leaks;
    const struct heap_process *most = leaker(h);
    const char *grew = "and whether it still grew is not known";
    bool said = false;

    if (l->growth.heap && is_much(h, heap_at_asked(h, HEAP_AT_WORKED).bytes)) {
        leak_rows_read(l, NULL, FINDINGS_VERDICTS);
        f->known = l->known.sum;
        grew = whether_it_grew(l);
        if (f->lines)
            note_verdicts(f);
        said = is_much(h, l->growing_bytes);
        if (said)
            say_growing_stacks(f, l);
        else
            said = say_growing_site(f, l);
    }
    leak_rows_free(l);
    if (!said && most && is_much(h, left_by(h, most)))
        say_leak(f, most, left_by(h, most), grew);
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
    char size[TEXT_SIZE], blocks[TEXT_SIZE];

    for (size_t i = 0; i < h->stack_count; i++) {
        const struct heap_count unreached = heap_stack_unreached(h, &h->stacks[i]);

        lost.bytes += unreached.bytes;
        lost.milliblocks += unreached.milliblocks;
    }
    if (!heap_reach_known(h) || lost.bytes < LOST_LEAST)
        return;
    text_size(size, lost.bytes);
    one.title = arena_printf(f->answer->arena, "%s are lost: nothing points to them", size);
    one.evidence = arena_printf(
        f->answer->arena, "nothing pointed to %s in %s blocks any more; most of it from %s", size,
        text_count(blocks, heap_blocks(&lost)), findings_largest(f, weight_lost, &one));
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
