/* step_find - see step_find.h. */
#include "model/step_find.h"

#include "base/memory.h"
#include "model/batches.h"
#include "model/step_calls.h"
#include "model/step_lines.h"
#include "trace/batch.h"

#include <stdlib.h>
#include <string.h>

#define LEAST 4000 /* bytes: smaller blocks may be samples, which come by chance */
#define BIRTHS_MOST ((size_t)1 << 21)
#define INFOS_MOST ((size_t)1 << 20)

const char *step_how_text(enum step_how how)
{
    static const char *const texts[] = {[STEP_TOLD] = "the program",
                                        [STEP_BY_OPTIMIZER] = "the optimizer's frames",
                                        [STEP_BY_BACKWARD] = "the passes of gradients",
                                        [STEP_BY_PATTERN] = "stacks that repeat"};

    return texts[how];
}

/* ---- births ---- */

static void add(struct step_find *f, struct step_birth birth)
{
    if (f->count == BIRTHS_MOST) {
        f->left_out++;
        return;
    }
    memory_fit(f->births, f->room, f->count + 1);
    birth.order = (uint32_t)f->count;
    f->births[f->count++] = birth;
}

static bool is_framework(const char *module)
{
    const struct table_frame f = {.module = module};

    return module && op_rules_find(&f).meaning == OP_FRAMEWORK;
}

static void take_alloc(struct step_find *f, struct threads *threads, const struct trace_event *ev)
{
    bool whole = ev->present >= 6 && !ev->alloc.weight;
    const struct threads_thread *t = whole && ev->alloc.bytes >= LEAST
                                       ? threads_find(threads, ev->alloc.thread)
                                       : NULL;

    if (t)
        add(f, (struct step_birth){.time_ns = ev->time_ns,
                                   .process = t->process,
                                   .thread = ev->alloc.thread,
                                   .stack = (uint32_t)ev->alloc.stack});
}

static uint64_t info_key(uint64_t process, uint64_t info)
{
    return process << 32 | (info & UINT32_MAX);
}

static void take_infos(struct step_find *f, const struct trace_event *ev)
{
    struct batch_info info = {.info = ev->infos.first - 1};
    const unsigned char *tail = ev->tail;
    size_t size = ev->tail_bytes;

    while (batch_next_info(&tail, &size, &info))
        if (info.bytes >= LEAST && f->infos.used < INFOS_MOST)
            intmap_put(&f->infos, info_key(ev->infos.process, info.info), info.stack);
}

struct batch_of {
    struct step_find *find;
    uint64_t process;
};

static void take_run(void *context, const struct batches_run *run)
{
    const struct batch_of *b = context;
    uint64_t stack;

    for (const struct batch_item *e = run->items; e < run->items + run->count; e++)
        if (e->op == BATCH_ALLOC &&
            intmap_get(&b->find->infos, info_key(b->process, e->info), &stack))
            add(b->find, (struct step_birth){.time_ns = run->time_ns,
                                             .process = b->process,
                                             .thread = run->thread,
                                             .stack = (uint32_t)stack});
}

void step_find_take(struct step_find *f, const struct names *names, struct threads *threads,
                    const struct trace_event *ev)
{
    struct batch_of batch = {f, ev->kind == TRACE_BATCH ? ev->batch.process : 0};

    if (ev->kind == TRACE_MODULE)
        f->active = f->active || is_framework(names_get(names, ev->module.file));
    if (!f->active)
        return;
    if (ev->kind == TRACE_ALLOC)
        take_alloc(f, threads, ev);
    else if (ev->kind == TRACE_INFOS)
        take_infos(f, ev);
    else if (ev->kind == TRACE_BATCH)
        batches_each(ev, take_run, &batch);
}

/* ---- by a pattern ---- */

struct recurring { /* a stack that comes again and again, as regularly */
    size_t first, times, period;
};

static int by_stack(const void *a, const void *b)
{
    const struct step_birth *x = *(const struct step_birth *const *)a,
                            *y = *(const struct step_birth *const *)b;

    if (x->stack != y->stack)
        return x->stack < y->stack ? -1 : 1;
    return x < y ? -1 : x > y;
}

static size_t gap(const struct step_birth *const *at, size_t i)
{
    return (size_t)(at[i + 1] - at[i]);
}

/* All gaps but the first, in which a program warms up, are the same to a tenth. */
static size_t period_of(const struct step_birth *const *at, size_t times)
{
    size_t from = times > STEPS_LEAST ? 1 : 0, least = SIZE_MAX, most = 0;

    for (size_t i = from; i + 1 < times; i++) {
        least = gap(at, i) < least ? gap(at, i) : least;
        most = gap(at, i) > most ? gap(at, i) : most;
    }
    return most - least <= least / 10 ? least : 0;
}

static size_t list_recurring(const struct step_birth *births, size_t count,
                             const struct step_birth **sorted, struct recurring *out)
{
    size_t found = 0;

    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && sorted[next]->stack == sorted[i]->stack;)
            next++;
        if (next - i < STEPS_LEAST || (size_t)(sorted[next - 1] - sorted[i]) * 2 < count)
            continue;
        out[found] = (struct recurring){(size_t)(sorted[i] - births), next - i,
                                        period_of(sorted + i, next - i)};
        found += out[found].period > 0;
    }
    return found;
}

/* What most stacks do is a step: what recurs less often is done now and then. */
static const struct recurring *choose_recurring(const struct recurring *list, size_t count)
{
    const struct recurring *best = NULL;
    struct intmap by_times = {0};
    uint64_t most = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t n = 0;

        intmap_get(&by_times, list[i].times, &n);
        intmap_put(&by_times, list[i].times, n + 1);
    }
    for (size_t i = 0; i < count; i++) {
        const struct recurring *r = &list[i];
        uint64_t same = 0, one_less = 0, one_more = 0;

        intmap_get(&by_times, r->times, &same);
        intmap_get(&by_times, r->times - 1, &one_less);
        intmap_get(&by_times, r->times + 1, &one_more);
        same += one_less + one_more;
        if (!best || same > most || (same == most && r->period > best->period) ||
            (same == most && r->period == best->period && r->first < best->first))
            best = r;
        most = same > most ? same : most;
    }
    intmap_free(&by_times);
    return best;
}

/* Of the stacks that come once in each step, the one that came most often before the first: what a
 * cache is made by may have been too small to be seen at first.
 */
static size_t begin_of(const struct step_birth *births, size_t count,
                       const struct step_birth *const *sorted, const struct recurring *r)
{
    size_t begin = r->first, most = 0;

    for (size_t i = 0, next; i < count; i = next) {
        size_t before = 0;

        for (next = i; next < count && sorted[next]->stack == sorted[i]->stack;)
            before += (size_t)(sorted[next++] - births) < r->first;
        if (next - i - before == r->times && before > most &&
            period_of(sorted + i + before, r->times)) {
            most = before;
            begin = (size_t)(sorted[i] - births);
        }
    }
    return begin;
}

/* The last step ends a little after its last birth, as the one before it did. */
static uint64_t last_end(const struct step_birth *births, size_t count, size_t last, size_t before)
{
    size_t births_of = last - before;

    if (last + births_of < count)
        return births[last + births_of].time_ns;
    return step_lines_after(births[count - 1].time_ns,
                            births[last].time_ns - births[last - 1].time_ns);
}

static size_t ends_by_pattern(const struct step_birth *births, size_t count, uint64_t *ends)
{
    const struct step_birth **sorted = memory_zeroed((count + 1) * sizeof(struct step_birth *));
    struct recurring *list = memory_zeroed((count + 1) * sizeof(*list));
    const struct recurring *r;
    size_t found = 0, begin = count, last = 0, before = 0;

    for (size_t i = 0; i < count; i++)
        sorted[i] = &births[i];
    memory_sort(sorted, count, sizeof(struct step_birth *), by_stack);
    r = choose_recurring(list, list_recurring(births, count, sorted, list));
    if (r)
        last = begin = begin_of(births, count, sorted, r);
    for (size_t i = begin + 1; i < count; i++)
        if (births[i].stack == births[begin].stack) {
            ends[found++] = births[i].time_ns;
            before = last;
            last = i;
        }
    if (r)
        ends[found++] = last_end(births, count, last, before);
    free(sorted);
    free(list);
    return found;
}

static bool is_half(const struct step_birth *births, size_t count, uint64_t from_ns, uint64_t to_ns)
{
    size_t within = 0;

    for (size_t i = 0; i < count; i++)
        within += births[i].time_ns >= from_ns && births[i].time_ns < to_ns;
    return within * 2 >= count;
}

/* What an optimizer or the engine of gradients has called is part of a step, and never one: a
 * closure of L-BFGS is called as often as its search takes. What recurs besides is what the program
 * does if it does so for half of the time.
 */
static size_t ends_between(const struct step_birth *births, size_t count, uint64_t *ends)
{
    struct step_birth *outside = memory_zeroed((count + 1) * sizeof(*outside));
    size_t kept = 0, found;

    for (size_t i = 0; i < count; i++)
        if (!births[i].line)
            outside[kept++] = births[i];
    found = ends_by_pattern(outside, kept, ends);
    free(outside);
    return kept < count && found && !is_half(births, count, ends[0], ends[found - 1]) ? 0 : found;
}

size_t step_find_ends(const struct step_birth *births, size_t count, uint64_t *ends,
                      enum step_how *how)
{
    size_t found;

    *how = STEP_BY_OPTIMIZER;
    found = step_lines_ends(births, count, OP_PHASE_OPTIMIZER, ends);
    if (found)
        return found;
    found = step_calls_ends(births, count, ends);
    if (found)
        return found;
    *how = STEP_BY_BACKWARD;
    found = step_lines_ends(births, count, OP_PHASE_BACKWARD, ends);
    if (found)
        return found;
    *how = STEP_BY_PATTERN;
    return ends_between(births, count, ends);
}

/* ---- of all processes ---- */

static int by_process(const void *a, const void *b)
{
    const struct step_birth *x = a, *y = b;

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static uint64_t line_of(const struct op_stack *from)
{
    struct table_frame line;

    if (!from->tensor || !from->entered)
        return 0;
    line = frames_site(from->frames, from->entered);
    return frames_key(&line);
}

static void keep_tensors(struct step_find *f, const struct frames *frames, struct arena *a)
{
    struct op_stacks stacks;
    size_t kept = 0;

    op_stacks_start(&stacks, frames, a);
    for (size_t i = 0; i < f->count; i++) {
        f->births[i].from = op_stacks_common(&stacks, f->births[i].stack);
        f->births[i].line = line_of(f->births[i].from);
        if (f->births[i].from->tensor)
            f->births[kept++] = f->births[i];
    }
    f->count = kept;
    op_stacks_free(&stacks);
}

void step_find_end(struct step_find *f, const struct frames *frames, struct arena *a,
                   step_found *found, void *context)
{
    uint64_t *ends = memory_zeroed((f->count + 1) * sizeof(*ends));

    keep_tensors(f, frames, a);
    memory_sort(f->births, f->count, sizeof(*f->births), by_process);
    for (size_t i = 0, next; i < f->count; i = next) {
        enum step_how how;
        size_t count;

        for (next = i; next < f->count && f->births[next].process == f->births[i].process;)
            next++;
        count = step_find_ends(f->births + i, next - i, ends, &how);
        for (size_t k = 0; k < count; k++)
            found(context, f->births[i].process, k + 1, ends[k], how);
    }
    free(ends);
}

void step_find_free(struct step_find *f)
{
    free(f->births);
    intmap_free(&f->infos);
    *f = (struct step_find){.active = f->active};
}
