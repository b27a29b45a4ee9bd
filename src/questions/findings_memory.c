/* findings_memory - what deserves a look of memory: held at the peak, or allocated again and again.
 * Limits below which nobody should be bothered are named here.
 */
#include "base/text.h"
#include "model/covered.h"
#include "questions/finding_rules.h"
#include "questions/heap_cells.h"

#include <inttypes.h>
#include <string.h>

#define HELD_SHARE 15.0 /* percent of the peak, for a line or a site */
#define HELD_LEAST ((uint64_t)4 << 20)
#define HELD_MOST 2
#define HELD_IMPORTS 1      /* lines that import are said besides: nobody frees what they hold */
#define UNUSED_PART 0.5     /* resident memory, of the largest heap: the rest was never touched */
#define UNUSED_SAID 0.95    /* and of less than this it is said */
#define MANY_BLOCKS 10000   /* fewer allocations than this are no churn */
#define MUCH_TEMPORARY 20.0 /* percent of all allocations; */
/* of a program whose objects are Python's: a quarter is nothing odd */
#define MUCH_OF_PYTHON 50.0
#define CHURN_TIMES 3.0 /* bytes allocated in all to those at the peak */
#define CHURN_SHARE 0.2 /* of the bytes, by one line */
#define CHURN_LEAST ((uint64_t)256 << 20)

/* ---- at the peak ---- */

/* "; but no more than 55.1 MiB were ever resident": what was asked for and never touched. */
static const char *unused_clause(const struct findings *f, bool *unused)
{
    const struct heap *h = &f->recorded->heap;
    char size[TEXT_SIZE];
    uint64_t rss;

    *unused = false;
    if (!metrics_get(&h->run->final, METRIC_PEAK_UPPER, &rss) || !rss || covered_since(h->run))
        return "";
    *unused = (double)rss < (double)h->peak.bytes * UNUSED_PART;
    return (double)rss < (double)h->peak.bytes * UNUSED_SAID
             ? arena_printf(f->answer->arena, "; but no more than %s were ever resident",
                            text_size(size, rss))
             : "";
}

/* A line of Python that imports, as far as its text is known. */
static bool is_import(const char *code)
{
    return code && (strncmp(code, "import ", 7) == 0 ||
                    (strncmp(code, "from ", 5) == 0 && strstr(code, " import")));
}

static const char *held_advice(bool unused, bool imports)
{
    if (unused)
        return "Most of what was asked for is never touched, so it costs address space rather than "
               "memory: ask for less.";
    if (imports)
        return "It imports: leave out what the program does not need, or import it only where it "
               "is needed.";
    return "To lower the peak, keep less of it at once: free it earlier, or work in parts.";
}

static void say_held(struct findings *f, struct finding *one, const char *where,
                     const struct heap_amount *at)
{
    const struct heap *h = &f->recorded->heap;
    struct arena *a = f->answer->arena;
    char size[TEXT_SIZE], all[TEXT_SIZE], when[TEXT_SIZE];
    double share = (double)at->bytes / (double)h->peak.bytes * 100;
    bool unused, imports = is_import(one->code);
    const char *clause = unused_clause(f, &unused);

    text_size(size, at->bytes);
    text_size(all, h->peak.bytes);
    text_duration(when, h->peak_ns);
    one->kind = "held";
    one->severity = share >= 50 && !unused && !imports ? FINDING_HIGH : FINDING_MEDIUM;
    one->confidence = findings_sure(h);
    one->measure = "peak";
    one->look_at = "peak";
    one->title = arena_printf(a, "%s held %.0f %% of the peak", where, share);
    one->evidence = arena_printf(
        a, "%s held %s%s of the %s that lived after %s%s", where, size,
        h->sampled ? arena_printf(a, " (%s)", heap_basis_brief(h, at)) : "", all, when, clause);
    one->advice = held_advice(unused, imports);
    findings_add(f, one);
}

static bool is_large(const struct heap *h, const struct heap_amount *at)
{
    double sure = 1 - 2 * heap_error(at) / 100;

    return at->bytes >= HELD_LEAST && h->peak.bytes &&
           (double)at->bytes * sure >= (double)h->peak.bytes * HELD_SHARE / 100;
}

/* The line that holds most of those below, and imports or does not; 0: none that is large. */
static uint32_t largest_held(const struct findings *f, uint64_t below, bool imports)
{
    const struct line_sums *s = f->lines;
    uint32_t best = 0;

    for (uint32_t i = SCOPE_KINDS; i < s->blame.line_count; i++) {
        struct finding one = {0};

        if (s->lines[i].at_peak.bytes >= below || !is_large(s->heap, &s->lines[i].at_peak) ||
            (best && s->lines[i].at_peak.bytes <= s->lines[best].at_peak.bytes))
            continue;
        findings_at_line(f, &one, i);
        if (is_import(one.code) == imports)
            best = i;
    }
    return best;
}

static int find_held_lines(struct findings *f, bool imports, int most)
{
    uint64_t below = UINT64_MAX;
    uint32_t line;
    int said = 0;

    while (said < most && (line = largest_held(f, below, imports))) {
        struct finding one = {.view = "source"};

        below = f->lines->lines[line].at_peak.bytes;
        findings_at_line(f, &one, line);
        say_held(f, &one, findings_place(f, line), &f->lines->lines[line].at_peak);
        said++;
    }
    return said;
}

static uint64_t weight_at(const struct heap_stack_sum *s)
{
    return s->at.bytes;
}

/* Of a program without lines: its functions. */
static void find_held_sites(struct findings *f)
{
    struct heap *h = &f->recorded->heap;
    struct heap_rows rows;

    heap_at(h, HEAP_AT_PEAK, 0);
    heap_rows_sites(&rows, h, weight_at, HELD_MOST);
    for (size_t i = 0; i < rows.count && i < HELD_MOST; i++) {
        struct finding one = {.view = "flame"};

        if (!rows.rows[i].stack || !is_large(h, &rows.rows[i].sum.at))
            continue;
        findings_at_stack(f, &one, &rows.rows[i]);
        say_held(f, &one, table_site_text(f->answer->arena, &rows.rows[i].site),
                 &rows.rows[i].sum.at);
    }
}

static void find_held(struct findings *f)
{
    int said;

    if (!f->lines)
        return;
    said = find_held_lines(f, false, HELD_MOST) + find_held_lines(f, true, HELD_IMPORTS);
    if (!said)
        find_held_sites(f);
}

/* ---- churn ---- */

static uint64_t weight_temporary(const struct heap_stack_sum *s)
{
    return s->sums.temporary.milliblocks;
}

/* Most blocks are objects of Python, of which many live for one expression. */
static bool is_of_python(const struct heap *h)
{
    uint64_t blocks = 0;

    for (size_t i = 0; i < h->stack_count; i++)
        blocks += heap_stack_python(h, &h->stacks[i]).milliblocks;
    return blocks > h->sums.allocated.milliblocks / 2;
}

static void find_temporary(struct findings *f)
{
    const struct heap *h = &f->recorded->heap;
    const struct heap_sums *s = &h->sums;
    double share = s->allocated.milliblocks ? heap_share(&s->temporary, &s->allocated) : 0;
    bool python = is_of_python(h);
    struct finding one = {.kind = "churn",
                          .severity = FINDING_LOW,
                          .view = "flame",
                          .measure = "temporary",
                          .look_at = "temporary",
                          .confidence = findings_sure(h)};

    if (!h->temporary_known || heap_blocks(&s->allocated) < MANY_BLOCKS ||
        share - 2 * heap_share_error(&s->temporary, &s->allocated) <
            (python ? MUCH_OF_PYTHON : MUCH_TEMPORARY))
        return;
    one.title = arena_printf(f->answer->arena,
                             "%.0f %% of all allocations were freed before the next one", share);
    one.evidence = arena_printf(f->answer->arena, "%s; most of them from %s", one.title,
                                findings_largest(f, weight_temporary, &one));
    one.advice = python ? "Where this is slow, make fewer objects in the innermost loop."
                        : "Use one buffer again and again instead of a new block each time.";
    findings_add(f, &one);
}

/* The line that allocates most, of those that do more than import. */
static uint32_t largest_allocated(const struct findings *f)
{
    const struct line_sums *s = f->lines;
    uint32_t best = 0;

    for (uint32_t i = SCOPE_KINDS; i < s->blame.line_count; i++) {
        struct finding one = {0};

        if (s->lines[i].allocated.bytes < CHURN_LEAST ||
            (best && s->lines[i].allocated.bytes <= s->lines[best].allocated.bytes))
            continue;
        findings_at_line(f, &one, i);
        if (!is_import(one.code))
            best = i;
    }
    return best;
}

/* A line that allocates far more than is ever held at once. */
static void find_churn(struct findings *f)
{
    const struct heap *h = &f->recorded->heap;
    const struct line_sums *s = f->lines;
    struct arena *a = f->answer->arena;
    const struct line_sum *l;
    uint32_t best = largest_allocated(f);
    struct finding one = {.kind = "churn",
                          .severity = FINDING_LOW,
                          .view = "source",
                          .measure = "temporary",
                          .look_at = "lines",
                          .confidence = findings_sure(h)};
    char size[TEXT_SIZE], peak[TEXT_SIZE], blocks[TEXT_SIZE];

    l = &s->lines[best];
    if (!best || (double)l->allocated.bytes < (double)h->peak.bytes * CHURN_TIMES ||
        (double)l->allocated.bytes < (double)s->sum.allocated.bytes * CHURN_SHARE)
        return;
    text_size(size, l->allocated.bytes);
    text_size(peak, h->peak.bytes);
    findings_at_line(f, &one, best);
    one.title = arena_printf(a, "%s allocated %s in all", findings_place(f, best), size);
    one.evidence = arena_printf(
        a, "%s allocated %s in %s blocks, though no more than %s ever lived",
        findings_place(f, best), size, text_count(blocks, heap_blocks(&l->allocated)), peak);
    one.advice =
        "Where this line is slow, allocate once and use it again, or write into what is there.";
    findings_add(f, &one);
}

void findings_of_memory(struct findings *f)
{
    findings_of_leaks(f);
    find_held(f);
    find_temporary(f);
    if (f->lines)
        find_churn(f);
}
