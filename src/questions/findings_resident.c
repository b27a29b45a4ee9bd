/* findings_resident - what deserves a look of resident memory, and of the recording itself. */
#include "base/text.h"
#include "model/covered.h"
#include "questions/finding_rules.h"

#include <inttypes.h>

#define PAGE 4096.0
#define FAULTS_PER_PAGE 4.0 /* minor faults for each page of the largest resident memory */
#define FAULTS_LEAST 100000
#define RSS_PER_HEAP 2.0 /* largest resident memory to largest heap */
#define RSS_LEAST (64u << 20)
#define MANY_MAPS 10000
#define MUCH_FREE 50.0 /* percent of the [heap] that is resident */
#define FREE_LEAST (16u << 20)

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

/* The faults of a process for each page that it ever held at once; 0: not known, or few. */
static double faults_per_page(const struct run_process *p, uint64_t *faults)
{
    uint64_t rss;

    if (!run_own(p, METRIC_MINOR_FAULTS, faults) || *faults < FAULTS_LEAST ||
        !metrics_get(&p->most, METRIC_RSS_PEAK, &rss) || !rss)
        return 0;
    return (double)*faults * PAGE / (double)rss;
}

/* The process with most faults of those that take their pages again and again: each of several
 * takes its own for the first time. NULL: there is none.
 */
static const struct run_process *thrasher(const struct run *r, uint64_t *most, double *times)
{
    const struct run_process *worst = NULL;
    uint64_t faults;

    *most = 0;
    for (size_t i = 0; i < r->process_count; i++) {
        double one = faults_per_page(r->processes[i], &faults);

        if (one < FAULTS_PER_PAGE || faults <= *most)
            continue;
        worst = r->processes[i];
        *most = faults;
        *times = one;
    }
    return worst;
}

/* Pages that are given back to the kernel and taken again cost a fault each time. */
static void find_thrash(struct findings *f)
{
    const struct run *r = &f->recorded->run;
    struct arena *a = f->answer->arena;
    struct finding one = {.kind = "thrash",
                          .severity = FINDING_MEDIUM,
                          .view = "run",
                          .measure = "temporary",
                          .look_at = "timeline",
                          .confidence = "certain"};
    uint64_t faults;
    double times;
    const struct run_process *p = thrasher(r, &faults, &times);
    bool several = p && p->name && r->process_count > 1;
    char number[TEXT_SIZE];

    if (!p)
        return;
    one.title = "Pages are given back to the kernel and taken again";
    one.evidence = arena_printf(
        a,
        "%s minor faults%s are %.0f for each page of %s largest resident memory: pages are given "
        "back and taken again",
        text_count(number, faults),
        several ? arena_printf(a, " of %s (%" PRIu64 ")", p->name, p->pid) : "", times,
        several ? "its" : "the");
    one.advice =
        "Keep large buffers, or let malloc keep more (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD).";
    findings_add(f, &one);
}

static void find_resident(struct findings *f)
{
    const struct heap *h = &f->recorded->heap;
    struct arena *a = f->answer->arena;
    struct finding one = {.kind = "resident",
                          .severity = FINDING_MEDIUM,
                          .view = "resident",
                          .measure = "mapped",
                          .look_at = "resident",
                          .confidence = "certain"};
    const char *rest = resident_rest_text(&f->rest, h, a);
    char resident[TEXT_SIZE], heap[TEXT_SIZE];
    uint64_t rss;

    if (covered_since(h->run)) /* it may be what was there before */
        return;
    if (!peak_rss(h->run, &rss) || rss < RSS_LEAST ||
        (double)rss < (double)h->peak.bytes * RSS_PER_HEAP)
        return;
    text_size(resident, rss);
    text_size(heap, h->peak.bytes);
    one.title = "Most resident memory is not the heap";
    one.evidence = arena_printf(
        a, "the largest resident memory, %s, is far more than the largest heap, %s: %s", resident,
        heap, rest ? rest : "fragmentation, or memory that is no heap");
    one.advice =
        "Look at what the program maps itself, at its libraries, and at what malloc keeps.";
    findings_add(f, &one);
}

static void find_fragments(struct findings *f)
{
    const struct heap *h = &f->recorded->heap;
    struct finding one = {.kind = "fragments",
                          .severity = FINDING_MEDIUM,
                          .view = "resident",
                          .measure = "end",
                          .look_at = "resident",
                          .confidence = "certain"};
    char idle[TEXT_SIZE], held[TEXT_SIZE];
    uint64_t live = 0, bytes;
    double share;

    if (covered_since(h->run) || !f->held.known ||
        !heap_live_between(h, f->held.from_ns, f->held.to_ns, &live))
        return;
    bytes = f->held.held > live ? f->held.held - live : 0;
    share = f->held.held ? (double)bytes / (double)f->held.held * 100 : 0;
    if (bytes < FREE_LEAST || share < MUCH_FREE)
        return;
    text_size(idle, bytes);
    text_size(held, f->held.held);
    one.title = arena_printf(f->answer->arena, "%s of malloc's heap were free but resident", idle);
    one.evidence = arena_printf(
        f->answer->arena,
        "at least %s, %.0f %% of the %s that malloc held in its heap, were free but "
        "not given back: fragmentation",
        idle, share, held);
    one.advice = "Allocate long-lived blocks apart from short-lived ones; malloc_trim(3) may help.";
    findings_add(f, &one);
}

void findings_of_resident(struct findings *f)
{
    find_thrash(f);
    find_resident(f);
    find_fragments(f);
}

/* ---- the recording itself ---- */

/* A process that ran before, or went on while nothing was recorded, has blocks that nobody saw. */
static bool is_expected(const struct run *r)
{
    return r->pauses || covered_since(r);
}

static void say(struct findings *f, const char *kind, const char *title, const char *evidence,
                const char *look_at)
{
    const struct finding one = {.kind = kind,
                                .severity = FINDING_LOW,
                                .title = title,
                                .evidence = evidence,
                                .confidence = "certain",
                                .view = "run",
                                .measure = "allocated",
                                .look_at = look_at,
                                .advice = "The numbers of this recording may lack these."};

    findings_add(f, &one);
}

void findings_of_records(struct findings *f)
{
    struct arena *a = f->answer->arena;
    const struct heap *h = &f->recorded->heap;
    uint64_t left_out = h->left_out + h->frames->left_out;
    char number[TEXT_SIZE];

    if (h->maps > MANY_MAPS)
        findings_add(f,
                     &(struct finding){
                         .kind = "mapped",
                         .severity = FINDING_LOW,
                         .confidence = "certain",
                         .title = "Memory is mapped again and again",
                         .evidence = arena_printf(a, "memory was mapped %s times",
                                                  text_count(number, h->maps)),
                         .advice = "Each mapping is a system call, and its pages fault: keep some.",
                         .view = "flame",
                         .measure = "mapped",
                         .look_at = "timeline"});
    if (h->unknown_frees && !is_expected(h->run))
        say(f, "unknown", "Some frees are of blocks that were never seen",
            arena_printf(
                a,
                "%s free%s of blocks never seen alive: they are older than the recording, or their records were lost",
                text_count(number, h->unknown_frees), h->unknown_frees == 1 ? "" : "s"),
            "processes");
    if (left_out)
        say(f, "left_out", "Some records could not be used",
            arena_printf(a, "%s record%s to what the trace does not have, and %s left out",
                         text_count(number, left_out), left_out == 1 ? " refers" : "s refer",
                         left_out == 1 ? "is" : "are"),
            NULL);
}
