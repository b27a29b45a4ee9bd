/* headline - see headline.h. */
#include "questions/headline.h"

#include "base/text.h"
#include "questions/heap_cells.h"

#include <string.h>

#define COMMAND_MOST 48

static const char *rss_clause(struct arena *a, const struct run *r)
{
    uint64_t lower, upper;
    char size[TEXT_SIZE];

    if (!metrics_get(&r->final, METRIC_PEAK_LOWER, &lower))
        return "";
    upper = lower;
    metrics_get(&r->final, METRIC_PEAK_UPPER, &upper);
    return arena_printf(a, "resident memory peaked at %s%s", text_size(size, lower),
                        upper > lower ? " or more" : " (exact)");
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

static const char *heap_clause(struct arena *a, const struct heap *h)
{
    const char *basis = heap_peak_basis(h);
    char size[TEXT_SIZE], when[TEXT_SIZE];

    if (!h->any)
        return "";
    text_duration(when, h->peak_ns);
    if (strncmp(basis, "exact, to a tick", 16) == 0) /* 'peak' says it at length */
        basis = h->reserved ? "exact; reservations by what was seen resident" : "exact";
    return arena_printf(a, "%s peaked at %s (%s)%s after %s",
                        mapped_of(h) ? "heap and mappings" : "the heap",
                        text_size(size, h->peak.bytes), basis, parts_clause(a, h), when);
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

static const char *command_begin(struct arena *a, const char *command)
{
    int most = COMMAND_MOST;

    if (strlen(command) <= COMMAND_MOST)
        return arena_printf(a, "'%s", command);
    while (((unsigned char)command[most] & 0xc0) == 0x80) /* not within a character */
        most--;
    return arena_printf(a, "'%.*s...", most, command);
}

/* "'python3 app.py' ran for 2.24 s with 1.01 s of CPU time; the heap peaked at ...; resident memory
 * ...".
 */
const char *headline(struct arena *a, const struct heap *h)
{
    const char *command = names_find(h->run->names, TRACE_OF_RUN, FACT_COMMAND);
    const char *cpu = cpu_clause(a, h->run), *heap = heap_clause(a, h),
               *rss = rss_clause(a, h->run);
    uint64_t ns = run_duration(h->run);
    char lasted[TEXT_SIZE];

    text_duration(lasted, ns);
    return arena_printf(a, "%s%s ran for %s%s%s%s%s%s%s.",
                        command ? command_begin(a, command) : "It", command ? "'" : "",
                        ns ? lasted : "a time that is not known", *cpu ? " with " : "", cpu,
                        *heap ? "; " : "", heap, *rss ? "; " : "", rss);
}
