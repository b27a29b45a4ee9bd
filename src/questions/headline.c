/* headline - see headline.h. */
#include "questions/headline.h"

#include "base/text.h"
#include "model/covered.h"
#include "model/heap_rows.h"
#include "questions/heap_cells.h"

#include <inttypes.h>
#include <string.h>

#define COMMAND_MOST 48
#define SHARE_LEAST 0.1 /* of the peak: who holds less of it is not named */

static const char *rss_clause(struct arena *a, const struct run *r)
{
    uint64_t lower, upper;
    char size[TEXT_SIZE];
    bool exact;

    if (!metrics_get(&r->final, METRIC_PEAK_LOWER, &lower))
        return "";
    exact = metrics_get(&r->final, METRIC_PEAK_UPPER, &upper) && upper == lower;
    return arena_printf(a, "resident memory peaked at %s%s", text_size(size, lower),
                        exact ? " (exact)" : " or more");
}

static uint64_t mapped_of(const struct heap *h)
{
    return h->peak_memory[TRACE_MEMORY_MAPPED].bytes + h->peak_memory[TRACE_MEMORY_SHARED].bytes;
}

/* ", of which 60.0 MiB mapped and 40.0 MiB shared": what is no heap, if anything. */
static const char *parts_clause(struct arena *a, const struct heap *h)
{
    uint64_t mapped = h->peak_memory[TRACE_MEMORY_MAPPED].bytes;
    uint64_t shared = h->peak_memory[TRACE_MEMORY_SHARED].bytes;
    char one[TEXT_SIZE], two[TEXT_SIZE];

    if (!mapped && !shared)
        return "";
    return arena_printf(a, ", of which %s%s%s%s%s", mapped ? text_size(one, mapped) : "",
                        mapped ? " mapped" : "", mapped && shared ? " and " : "",
                        shared ? text_size(two, shared) : "", shared ? " shared" : "");
}

/* " in 'load'": the innermost region that the peak is in, if there is one. */
static const char *region_clause(struct arena *a, const struct recorded *r)
{
    const struct region_span *inner = NULL;

    for (size_t i = 0; i < r->regions.count; i++) {
        const struct region_span *s = &r->regions.spans[i];

        if (s->from_ns <= r->heap.peak_ns && (!s->to_ns || r->heap.peak_ns < s->to_ns) &&
            (!inner || s->from_ns >= inner->from_ns))
            inner = s;
    }
    return inner && inner->name && *inner->name ? arena_printf(a, " in '%s'", inner->name) : "";
}

static uint64_t weight_at(const struct heap_stack_sum *s)
{
    return s->at.bytes;
}

/* The line that holds most of the peak; of a program without lines, the function. */
static const char *holder(struct arena *a, const struct line_sums *s, uint64_t *bytes)
{
    uint32_t best = 0;
    struct heap_rows rows;

    for (uint32_t i = SCOPE_KINDS; i < s->blame.line_count; i++)
        if (s->lines[i].at_peak.bytes > s->lines[best].at_peak.bytes * (best != 0))
            best = i;
    if (best) {
        *bytes = s->lines[best].at_peak.bytes;
        return arena_printf(a, "%s:%" PRIu64,
                            text_source(s->blame.files[s->blame.lines[best].file].path),
                            s->blame.lines[best].line);
    }
    heap_at(s->heap, HEAP_AT_PEAK, 0);
    heap_rows_sites(&rows, s->heap, weight_at, 1);
    if (!rows.count || !rows.rows[0].stack)
        return NULL;
    *bytes = rows.rows[0].sum.at.bytes;
    return table_site_text(a, &rows.rows[0].site);
}

/* ", 44 % of it from app.py:7". */
static const char *holder_clause(struct arena *a, const struct line_sums *s)
{
    uint64_t bytes = 0, peak = s->heap->peak.bytes;
    const char *who = holder(a, s, &bytes);

    if (!who || (double)bytes < (double)peak * SHARE_LEAST)
        return "";
    return arena_printf(a, ", %.0f %% of it from %s",
                        bytes < peak ? (double)bytes / (double)peak * 100 : 100, who);
}

/* "; the largest process, cc1 (4041), held 7.1 MiB at most". */
static const char *process_clause(struct arena *a, const struct heap *h)
{
    const struct heap_process *most = NULL;
    char size[TEXT_SIZE];

    for (size_t i = 0; i < h->process_count; i++)
        if (h->processes[i]->run && (!most || h->processes[i]->peak.bytes > most->peak.bytes))
            most = h->processes[i];
    if (h->process_count < 2 || !most || !most->run->name)
        return "";
    return arena_printf(a, "; the largest process, %s (%" PRIu64 "), held %s at most",
                        most->run->name, most->run->pid, text_size(size, most->peak.bytes));
}

/* What is from before an attach is not known, however much it is. */
static const char *heap_name(const struct heap *h)
{
    if (covered_since(h->run))
        return mapped_of(h) ? "what was allocated and mapped since" : "what was allocated since";
    return mapped_of(h) ? "heap and mappings" : "the heap";
}

static const char *heap_clause(struct arena *a, const struct line_sums *s)
{
    const struct heap *h = s->heap;
    const char *basis = heap_peak_basis(h);
    char size[TEXT_SIZE], when[TEXT_SIZE];

    if (!h->any)
        return "";
    text_duration(when, h->peak_ns);
    if (strncmp(basis, "exact, to a tick", 16) == 0) /* 'peak' says it at length */
        basis = h->reserved ? "exact; reservations by what was seen resident" : "exact";
    return arena_printf(a, "%s peaked at %s (%s) after %s%s%s%s%s", heap_name(h),
                        text_size(size, h->peak.bytes), basis, when, region_clause(a, s->recorded),
                        parts_clause(a, h), holder_clause(a, s), process_clause(a, h));
}

static const char *cpu_clause(struct arena *a, const struct run *r)
{
    char used[TEXT_SIZE];
    uint64_t ns;

    if (!run_total(r, METRIC_CPU_NS, &ns))
        return "";
    text_duration(used, ns);
    return arena_printf(a, "%s of CPU time", used);
}

/* What is run says more than where that is. */
static const char *without_folders(const char *command)
{
    const char *slash = memrchr(command, '/', strcspn(command, " "));

    return slash ? slash + 1 : command;
}

static const char *command_begin(struct arena *a, const char *command)
{
    int most = COMMAND_MOST;

    if (strlen(command) > COMMAND_MOST)
        command = without_folders(command);
    if (strlen(command) <= COMMAND_MOST)
        return arena_printf(a, "'%s", command);
    while (((unsigned char)command[most] & 0xc0) == 0x80) /* not within a character */
        most--;
    return arena_printf(a, "'%.*s...", most, command);
}

/* "'python3 app.py' ran for 2.24 s with 1.01 s of CPU time; the heap peaked at ...; resident memory
 * ...".
 */
const char *headline(struct arena *a, const struct line_sums *s)
{
    const struct heap *h = s->heap;
    const char *command = names_find(h->run->names, TRACE_OF_RUN, FACT_COMMAND);
    const char *cpu = cpu_clause(a, h->run), *heap = heap_clause(a, s),
               *rss = rss_clause(a, h->run);
    uint64_t ns = run_duration(h->run);
    char lasted[TEXT_SIZE];

    text_duration(lasted, ns);
    return arena_printf(a, "%s%s %s for %s%s%s%s%s%s%s.",
                        command ? command_begin(a, command) : "It", command ? "'" : "",
                        covered_since(h->run) ? "was recorded" : "ran",
                        ns ? lasted : "a time that is not known", *cpu ? " with " : "", cpu,
                        *heap ? "; " : "", heap, *rss ? "; " : "", rss);
}
