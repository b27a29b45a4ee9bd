/* findings_time - what deserves a look of time and copies, by line. */
#include "base/memory.h"
#include "base/text.h"
#include "questions/finding_rules.h"

#include <stdlib.h>
#include <string.h>

#define CPU_LEAST_NS 500000000u /* of all: less is no run to be made faster */
#define CPU_SHARE 0.25          /* of it, for a line */
#define WAIT_LEAST_NS 500000000u
#define LOCK_SHARE 0.2  /* of the run, by one line */
#define LOCK_WITHIN 6   /* innermost frames: those of libc */
#define QUEUE_SHARE 0.3 /* of what all threads used and waited for a CPU */
#define COPIED_LEAST ((uint64_t)1 << 30)
#define COPIED_SHARE 0.3

typedef double of_line(const struct line_sum *l);

static double cpu_of(const struct line_sum *l)
{
    return (double)l->cpu.ns;
}

static double copied_of(const struct line_sum *l)
{
    return (double)l->cpu.copied;
}

/* Where a thread waits until another gives a lock away; not for its word or its end. */
static bool is_lock(const char *function)
{
    return function && (strstr(function, "mutex_lock") || strstr(function, "mutex_timedlock") ||
                        strstr(function, "mutex_clocklock") || strstr(function, "lll_lock_wait") ||
                        strstr(function, "rwlock_"));
}

static bool waits_for_lock(const struct frames *f, uint64_t stack)
{
    for (int i = 0; i < LOCK_WITHIN && stack && stack <= f->stack_count; i++) {
        struct table_frame one;

        frames_expand(f, f->stacks[stack].frame, &one, 1);
        if (is_lock(one.function))
            return true;
        stack = f->stacks[stack].parent;
    }
    return false;
}

/* What lines waited for locks. Threads of native code that wait for something to do are told from
 * those by what they wait in; a line of Python says so itself.
 */
static double *find_lock_waits(const struct line_sums *s)
{
    double *waits = memory_zeroed((s->blame.line_count + 1) * sizeof(*waits));

    for (uint32_t i = SCOPE_KINDS; i < s->blame.line_count; i++)
        if (s->blame.files[s->blame.lines[i].file].python)
            waits[i] = (double)s->lines[i].cpu.cause_ns[TRACE_WAIT_LOCK];
    for (size_t i = 0; i < s->time->count; i++) {
        const struct cpu_entry *e = &s->time->entries[i];
        uint32_t line = blame_stack(&s->blame, e->stack);

        if (line >= SCOPE_KINDS && !s->blame.files[s->blame.lines[line].file].python &&
            waits_for_lock(s->frames, e->stack))
            waits[line] += (double)e->sums.cause_ns[TRACE_WAIT_LOCK];
    }
    return waits;
}

static double *find_gil_waits(const struct line_sums *s)
{
    double *waits = memory_zeroed((s->blame.line_count + 1) * sizeof(*waits));

    for (uint32_t i = SCOPE_KINDS; i < s->blame.line_count; i++)
        waits[i] = (double)s->lines[i].cpu.cause_ns[TRACE_WAIT_GIL];
    return waits;
}

/* The line with the most; 0: none has any. */
static uint32_t largest(const struct line_sums *s, of_line *of, double *most)
{
    uint32_t best = 0;

    *most = 0;
    for (uint32_t i = SCOPE_KINDS; i < s->blame.line_count; i++)
        if (of(&s->lines[i]) > *most) {
            *most = of(&s->lines[i]);
            best = i;
        }
    return best;
}

static void find_cpu(struct findings *f)
{
    const struct line_sums *s = f->lines;
    struct arena *a = f->answer->arena;
    char used[TEXT_SIZE], all[TEXT_SIZE];
    double most, error;
    uint32_t line = largest(s, cpu_of, &most);
    struct finding one = {.kind = "cpu",
                          .severity = FINDING_LOW,
                          .confidence = "likely",
                          .view = "source",
                          .measure = "cpu",
                          .look_at = "cpu"};

    if (!line || s->sum.cpu.ns < CPU_LEAST_NS)
        return;
    error = cpu_sums_error(&s->lines[line].cpu) / 100;
    if (most * (1 - 2 * error) < (double)s->sum.cpu.ns * CPU_SHARE)
        return;
    text_duration(used, (uint64_t)most);
    text_duration(all, s->sum.cpu.ns);
    findings_at_line(f, &one, line);
    one.title = arena_printf(a, "%s used %.0f %% of the CPU time", findings_place(f, line),
                             most / (double)s->sum.cpu.ns * 100);
    one.evidence = arena_printf(a, "%s used %s of %s of CPU time, ±%.0f %%",
                                findings_place(f, line), used, all, error * 100);
    one.advice = "If the run is too slow, this line is the first to look at.";
    findings_add(f, &one);
}

/* `waits`: by line; freed here. */
static void find_locks(struct findings *f, double *waits, const char *what, const char *advice)
{
    struct arena *a = f->answer->arena;
    uint64_t run_ns = run_duration(&f->recorded->run);
    char waited[TEXT_SIZE], all[TEXT_SIZE];
    uint32_t line = 0;
    double most = 0;
    struct finding one = {.kind = "waits",
                          .severity = FINDING_LOW,
                          .confidence = "likely",
                          .view = "source",
                          .measure = "waits",
                          .look_at = "waits",
                          .advice = advice};

    for (uint32_t i = SCOPE_KINDS; i < f->lines->blame.line_count; i++)
        if (waits[i] > most) {
            most = waits[i];
            line = i;
        }
    free(waits);
    if (!line || most < WAIT_LEAST_NS || !run_ns || most < (double)run_ns * LOCK_SHARE)
        return;
    text_duration(waited, (uint64_t)most);
    text_duration(all, run_ns);
    findings_at_line(f, &one, line);
    one.title = arena_printf(a, "%s waited %s for %s", findings_place(f, line), waited, what);
    one.evidence = arena_printf(a, "%s waited %s for %s, over all threads, in a run of %s",
                                findings_place(f, line), waited, what, all);
    findings_add(f, &one);
}

static void find_starved(struct findings *f)
{
    const struct cpu_sums *s = &f->lines->sum.cpu;
    uint64_t queued = s->cause_ns[TRACE_WAIT_QUEUE];
    char waited[TEXT_SIZE], used[TEXT_SIZE];
    struct finding one = {.kind = "starved",
                          .severity = FINDING_LOW,
                          .confidence = "likely",
                          .view = "run",
                          .measure = "waits",
                          .look_at = "waits"};

    if (queued < WAIT_LEAST_NS || (double)queued < (double)(queued + s->ns) * QUEUE_SHARE)
        return;
    text_duration(waited, queued);
    text_duration(used, s->ns);
    one.title = "No CPU was free for a good part of the run";
    one.evidence = arena_printf(f->answer->arena,
                                "Threads were ready to run but had no CPU for %s%s%s", waited,
                                s->ns ? ", and used " : "", s->ns ? used : "");
    one.advice = "Times of this run say little: use fewer threads than CPUs, or a machine "
                 "that is not busy with other work.";
    findings_add(f, &one);
}

static void find_copies(struct findings *f)
{
    const struct line_sums *s = f->lines;
    struct arena *a = f->answer->arena;
    char copied[TEXT_SIZE], all[TEXT_SIZE];
    double most, error;
    uint32_t line = largest(s, copied_of, &most);
    struct finding one = {.kind = "copies",
                          .severity = FINDING_LOW,
                          .confidence = "likely",
                          .view = "source",
                          .measure = "copied",
                          .look_at = "copies"};

    error = line ? cpu_sums_copied_error(&s->lines[line].cpu) / 100 : 0;
    if (!line || s->sum.cpu.copied < COPIED_LEAST ||
        most * (1 - 2 * error) < (double)s->sum.cpu.copied * COPIED_SHARE)
        return;
    text_size(copied, (uint64_t)most);
    text_size(all, s->sum.cpu.copied);
    findings_at_line(f, &one, line);
    one.title = arena_printf(a, "%s copied %s", findings_place(f, line), copied);
    one.evidence = arena_printf(a, "%s copied %s of %s, ±%.0f %%", findings_place(f, line), copied,
                                all, error * 100);
    one.advice = "Work on views or in place, or reserve the space once, so that less is copied.";
    findings_add(f, &one);
}

void findings_of_time(struct findings *f)
{
    find_cpu(f);
    find_locks(f, find_lock_waits(f->lines), "locks",
               "Unless this waits for a thread to end: hold the lock for a shorter time, or less "
               "often.");
    find_locks(f, find_gil_waits(f->lines), "the interpreter's lock",
               "Threads of Python take turns: use processes, or code that releases the lock.");
    find_starved(f);
    if (f->lines->copies_known)
        find_copies(f);
}
