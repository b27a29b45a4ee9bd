/* step_lines - see step_lines.h. */
#include "model/step_lines.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define LOOPS_DEEP 8 /* loops that are made while others pause */

struct line_run { /* births without a break that are of one line, some of them in the phase */
    size_t last;
    uint64_t line;
    bool step;
};

static bool is_of(const struct op_stack *s, enum op_phase phase)
{
    return s->phase == phase || (phase == OP_PHASE_BACKWARD && s->phase == OP_PHASE_RECOMPUTE);
}

static size_t list_runs(const struct step_birth *births, size_t count, enum op_phase phase,
                        struct line_run *runs)
{
    size_t found = 0;

    for (size_t i = 0, next; i < count; i = next) {
        bool any = false;

        for (next = i; next < count && births[next].line == births[i].line; next++)
            any |= is_of(births[next].from, phase);
        if (any && births[i].line)
            runs[found++] = (struct line_run){.last = next - 1, .line = births[i].line};
    }
    return found;
}

/* The line that is entered most often, of several the last to be so; 0: none is often enough. */
static uint64_t choose_line(const struct line_run *runs, size_t count)
{
    struct intmap times = {0};
    uint64_t most = STEPS_LEAST, line = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t n = 0;

        intmap_get(&times, runs[i].line, &n);
        intmap_put(&times, runs[i].line, ++n);
        if (n >= most) {
            most = n;
            line = runs[i].line;
        }
    }
    intmap_free(&times);
    return line;
}

/* Before, after and between the steps of one loop there may be those of others. */
static void mark_steps(struct line_run *runs, size_t count, int depth)
{
    uint64_t line = depth ? choose_line(runs, count) : 0;
    size_t from = 0;

    for (size_t i = 0; line && i <= count; i++) {
        if (i < count && runs[i].line != line)
            continue;
        if (i - from >= STEPS_LEAST)
            mark_steps(runs + from, i - from, depth - 1);
        if (i < count)
            runs[i].step = true;
        from = i + 1;
    }
}

uint64_t step_lines_after(uint64_t last_ns, uint64_t pause_ns)
{
    return last_ns + 1 + pause_ns / 4 * 3;
}

/* A step ends with the first birth after the line was left. */
static size_t ends_of_steps(const struct step_birth *births, size_t count,
                            const struct line_run *runs, size_t run_count, uint64_t *ends)
{
    uint64_t pause_ns = 0;
    size_t found = 0;

    for (const struct line_run *r = runs; r < runs + run_count; r++) {
        if (!r->step)
            continue;
        if (r->last + 1 == count) {
            ends[found++] = step_lines_after(births[r->last].time_ns, pause_ns);
        } else {
            ends[found++] = births[r->last + 1].time_ns;
            pause_ns = births[r->last + 1].time_ns - births[r->last].time_ns;
        }
    }
    return found;
}

/* Steps are half of what the program does from the first one on, at the least. */
static bool span_enough(size_t count, const struct line_run *runs, size_t run_count)
{
    size_t first = count, last = 0;

    for (const struct line_run *r = runs; r < runs + run_count; r++) {
        if (r->step && first == count)
            first = r->last;
        if (r->step)
            last = r->last;
    }
    return first < count && (last - first) * 2 >= count - first;
}

static size_t ends_of_thread(const struct step_birth *births, size_t count, enum op_phase phase,
                             uint64_t *ends)
{
    struct line_run *runs = memory_zeroed((count + 1) * sizeof(*runs));
    size_t run_count = list_runs(births, count, phase, runs), found = 0;

    mark_steps(runs, run_count, LOOPS_DEEP);
    if (span_enough(count, runs, run_count))
        found = ends_of_steps(births, count, runs, run_count, ends);
    free(runs);
    return found;
}

static int by_thread(const void *a, const void *b)
{
    const struct step_birth *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static struct step_birth *by_threads(const struct step_birth *births, size_t count)
{
    struct step_birth *out = memory_zeroed((count + 1) * sizeof(*out));

    for (size_t i = 0; i < count; i++) {
        out[i] = births[i];
        out[i].order = (uint32_t)i;
    }
    memory_sort(out, count, sizeof(*out), by_thread);
    return out;
}

size_t step_lines_ends(const struct step_birth *births, size_t count, enum op_phase phase,
                       uint64_t *ends)
{
    struct step_birth *of = by_threads(births, count);
    uint64_t *tried = memory_zeroed((count + 1) * sizeof(*tried));
    size_t most = 0;

    for (size_t i = 0, next; i < count; i = next) {
        size_t found;

        for (next = i; next < count && of[next].thread == of[i].thread;)
            next++;
        found = ends_of_thread(of + i, next - i, phase, tried);
        if (found > most)
            memcpy(ends, tried, found * sizeof(*ends));
        most = found > most ? found : most;
    }
    free(tried);
    free(of);
    return most;
}
