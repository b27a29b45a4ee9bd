/* question_cpu - the question `cpu`: which functions use CPU time themselves, and with all that
 * they call; how much of it is Python, native code and the kernel; and how much of what the kernel
 * has counted was seen.
 *
 * A function that is on a stack several times has its time once. Code without a name is one row per
 * file of code. What the interpreter itself does for a line of Python is that function's own.
 */
#include "base/count.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/text.h"
#include "questions/covered_answer.h"
#include "questions/question.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 30

enum {
    FUNCTION_SELF,
    FUNCTION_SELF_PERCENT,
    FUNCTION_TOTAL,
    FUNCTION_TOTAL_PERCENT,
    FUNCTION_ERROR_PERCENT,
    FUNCTION_PYTHON,
    FUNCTION_NATIVE,
    FUNCTION_SYSTEM,
    FUNCTION_COPYING,
    FUNCTION_SAMPLES,
    FUNCTION_FUNCTION,
    FUNCTION_MODULE,
};

static const struct table_column functions[] = {
    [FUNCTION_SELF] = {"self", UNIT_NS},
    [FUNCTION_SELF_PERCENT] = {"self_percent", UNIT_PERCENT},
    [FUNCTION_TOTAL] = {"total", UNIT_NS},
    [FUNCTION_TOTAL_PERCENT] = {"total_percent", UNIT_PERCENT},
    [FUNCTION_ERROR_PERCENT] = {"error_percent", UNIT_PERCENT},
    [FUNCTION_PYTHON] = {"python", UNIT_NS},
    [FUNCTION_NATIVE] = {"native", UNIT_NS},
    [FUNCTION_SYSTEM] = {"system", UNIT_NS},
    [FUNCTION_COPYING] = {"copying", UNIT_NS},
    [FUNCTION_SAMPLES] = {"samples", UNIT_COUNT},
    [FUNCTION_FUNCTION] = {"function", UNIT_TEXT},
    [FUNCTION_MODULE] = {"module", UNIT_TEXT},
};

enum { STACK_CPU, STACK_PERCENT, STACK_ERROR_PERCENT, STACK_SAMPLES, STACK_SITE, STACK_STACK };

static const struct table_column stacks[] = {
    [STACK_CPU] = {"cpu", UNIT_NS},
    [STACK_PERCENT] = {"percent", UNIT_PERCENT},
    [STACK_ERROR_PERCENT] = {"error_percent", UNIT_PERCENT},
    [STACK_SAMPLES] = {"samples", UNIT_COUNT},
    [STACK_SITE] = {"site", UNIT_TEXT},
    [STACK_STACK] = {"stack", UNIT_STACK},
};

struct function {
    struct table_frame name;
    struct cpu_sums self, total;
    size_t seen; /* the last entry that it was part of, from 1 */
};

struct work {
    struct cpu_time time; /* with entries of its own, which are merged in the end */
    const struct frames *frames;
    const struct run *run;
    struct function *functions;
    size_t count, room;
    struct intmap places;
};

/* Texts are kept once each, so their place stands for them. */
static uint64_t key_of(const struct table_frame *f)
{
    uint64_t key = hash_mix(hash_mix(1, (uintptr_t)f->module), (uintptr_t)f->function);

    return f->flags & TABLE_FRAME_PYTHON ? hash_mix(key, (uintptr_t)f->file) : key;
}

static struct function *function_of(struct work *w, const struct table_frame *f)
{
    uint64_t key = key_of(f), place;

    if (intmap_get(&w->places, key, &place))
        return &w->functions[place];
    memory_fit(w->functions, w->room, w->count + 1);
    intmap_put(&w->places, key, w->count);
    w->functions[w->count] = (struct function){.name = *f};
    return &w->functions[w->count++];
}

static bool is_own(const struct cpu_sums *s, const struct table_frame *f)
{
    return f->flags & TABLE_FRAME_PYTHON || s->kind_ns[TRACE_CPU_PYTHON] * 2 < s->ns;
}

static void add_entry(struct work *w, size_t number)
{
    const struct cpu_entry *e = &w->time.entries[number - 1];
    const struct frames *f = w->frames;
    struct table_frame names[FRAMES_INLINED_MOST];
    bool owned = false;

    for (uint64_t stack = e->stack; stack && stack <= f->stack_count;
         stack = f->stacks[stack].parent) {
        size_t n = frames_expand(f, f->stacks[stack].frame, names, FRAMES_INLINED_MOST);

        for (size_t i = 0; i < n; i++) {
            struct function *fn;

            if (names[i].flags & (TABLE_FRAME_ELIDED | TABLE_FRAME_CUT))
                continue;
            fn = function_of(w, &names[i]);
            if (!owned && is_own(&e->sums, &names[i])) {
                cpu_sums_add(&fn->self, &e->sums);
                owned = true;
            }
            if (fn->seen != number)
                cpu_sums_add(&fn->total, &e->sums);
            fn->seen = number;
        }
    }
}

static int by_self(const void *left, const void *right)
{
    const struct function *l = left, *r = right;

    if (l->self.ns != r->self.ns)
        return l->self.ns < r->self.ns ? 1 : -1;
    if (l->total.ns != r->total.ns)
        return l->total.ns < r->total.ns ? 1 : -1;
    return l->seen < r->seen ? -1 : l->seen > r->seen;
}

static const char *name_of(struct arena *a, const struct table_frame *f)
{
    struct table_frame name = *f;

    if (!f->function)
        return f->module ? arena_printf(a, "[%s]", text_base(f->module)) : "[code without a file]";
    if (!(f->flags & TABLE_FRAME_PYTHON))
        name.file = NULL;
    name.line = 0; /* it is that of one of the samples */
    name.flags = 0;
    return table_frame_text(a, &name);
}

static void percent(struct table_cell *c, uint64_t part, uint64_t whole)
{
    if (whole)
        cell_real(c, (double)part / (double)whole * 100);
}

/* The sum of all is measured; which part of it is whose is what was sampled. */
static void error(struct table_cell *c, const struct work *w, const struct cpu_sums *s)
{
    double share = w->time.sums.ns ? (double)s->ns / (double)w->time.sums.ns : 0;

    if (s->ns)
        cell_real(c, cpu_sums_error(s) * sqrt(share < 1 ? 1 - share : 0));
}

static void put_kinds(struct table_cell *c, const struct cpu_sums *s)
{
    cell_number(&c[FUNCTION_PYTHON], s->kind_ns[TRACE_CPU_PYTHON]);
    cell_number(&c[FUNCTION_NATIVE], s->kind_ns[TRACE_CPU_NATIVE]);
    cell_number(&c[FUNCTION_SYSTEM], s->kind_ns[TRACE_CPU_SYSTEM]);
    cell_number(&c[FUNCTION_COPYING], s->in_copy_ns);
}

static void put_function(struct answer *a, struct table *t, const struct work *w,
                         const struct function *f)
{
    struct table_cell *c = table_add(a, t);

    cell_number(&c[FUNCTION_SELF], f->self.ns);
    percent(&c[FUNCTION_SELF_PERCENT], f->self.ns, w->time.sums.ns);
    cell_number(&c[FUNCTION_TOTAL], f->total.ns);
    percent(&c[FUNCTION_TOTAL_PERCENT], f->total.ns, w->time.sums.ns);
    error(&c[FUNCTION_ERROR_PERCENT], w, &f->total);
    put_kinds(c, &f->total);
    cell_number(&c[FUNCTION_SAMPLES], f->total.samples);
    cell_text(&c[FUNCTION_FUNCTION], name_of(a->arena, &f->name));
    cell_text(&c[FUNCTION_MODULE], f->name.module);
}

/* Time whose stack is not known: it is in every percentage's whole. */
static void put_unknown(struct answer *a, struct table *t, const struct work *w)
{
    struct function rest = {.name.function = "(stack not known)"};

    for (size_t i = 0; i < w->time.count; i++)
        if (!w->time.entries[i].stack)
            cpu_sums_add(&rest.self, &w->time.entries[i].sums);
    rest.total = rest.self;
    if (rest.self.ns)
        put_function(a, t, w, &rest);
}

static void put_functions(struct answer *a, struct work *w, uint64_t most)
{
    struct table *t = answer_add(a, "functions", TABLE_ROWS, functions, COUNT(functions));

    for (size_t i = 1; i <= w->time.count; i++)
        if (w->time.entries[i - 1].sums.ns)
            add_entry(w, i);
    memory_sort(w->functions, w->count, sizeof(*w->functions), by_self);
    for (size_t i = 0; i < w->count && i < most; i++)
        put_function(a, t, w, &w->functions[i]);
    put_unknown(a, t, w);
    if (w->count > most)
        t->note = arena_printf(a->arena, "%zu functions in all.", w->count);
}

/* Of a frame in a stack: its function, whatever the line. */
static uint64_t key_in_stack(const struct table_frame *f)
{
    return hash_mix(key_of(f), f->flags);
}

static int by_time(const void *left, const void *right)
{
    const struct cpu_entry *l = left, *r = right;

    if (l->sums.ns != r->sums.ns)
        return l->sums.ns < r->sums.ns ? 1 : -1;
    return l->stack < r->stack ? -1 : l->stack > r->stack;
}

/* Of equal stacks, the one with the most time stands for all. */
static size_t merge_entries(struct cpu_time *time, const struct frames *f)
{
    uint64_t *keys = frames_stack_keys(f, key_in_stack), place;
    struct intmap places = {0};
    size_t kept = 0;

    memory_sort(time->entries, time->count, sizeof(*time->entries), by_time);
    for (size_t i = 0; i < time->count; i++) {
        const struct cpu_entry e = time->entries[i];
        uint64_t key = e.stack <= f->stack_count ? keys[e.stack] : 0;

        if (intmap_get(&places, key, &place)) {
            cpu_sums_add(&time->entries[place].sums, &e.sums);
            continue;
        }
        intmap_put(&places, key, kept);
        time->entries[kept++] = e;
    }
    free(keys);
    intmap_free(&places);
    memory_sort(time->entries, kept, sizeof(*time->entries), by_time);
    return kept;
}

static void put_stacks(struct answer *a, struct work *w, uint64_t most)
{
    struct table *t = answer_add(a, "stacks", TABLE_ROWS, stacks, COUNT(stacks));
    size_t count = merge_entries(&w->time, w->frames);

    for (size_t i = 0; i < count && i < most && w->time.entries[i].sums.ns; i++) {
        const struct cpu_entry *e = &w->time.entries[i];
        const struct table_stack *stack = frames_shared(w->frames, e->stack);
        struct table_cell *c = table_add(a, t);

        cell_number(&c[STACK_CPU], e->sums.ns);
        percent(&c[STACK_PERCENT], e->sums.ns, w->time.sums.ns);
        error(&c[STACK_ERROR_PERCENT], w, &e->sums);
        cell_number(&c[STACK_SAMPLES], e->sums.samples);
        cell_text(&c[STACK_SITE],
                  stack ? table_frame_text(a->arena, &stack->frames[0]) : "(stack not known)");
        cell_stack(&c[STACK_STACK], stack);
    }
    if (count > most)
        t->note = arena_printf(a->arena, "%zu stacks in all.", count);
}

static void put_facts(struct answer *a, const struct work *w, bool whole)
{
    struct table *t = answer_facts(a, "cpu");
    const struct cpu_sums *s = &w->time.sums;
    uint64_t used;

    cell_number(table_fact(a, t, "sampled", UNIT_NS), s->ns);
    cell_number(table_fact(a, t, "samples", UNIT_COUNT), s->samples);
    cell_number(table_fact(a, t, "python", UNIT_NS), s->kind_ns[TRACE_CPU_PYTHON]);
    cell_number(table_fact(a, t, "native", UNIT_NS), s->kind_ns[TRACE_CPU_NATIVE]);
    cell_number(table_fact(a, t, "system", UNIT_NS), s->kind_ns[TRACE_CPU_SYSTEM]);
    cell_number(table_fact(a, t, "copying", UNIT_NS), s->in_copy_ns);
    cell_number(table_fact(a, t, "without_stack", UNIT_NS), s->kind_ns[0]);
    if (whole && run_total(w->run, METRIC_CPU_NS, &used) && used) {
        cell_number(table_fact(a, t, "used", UNIT_NS), used);
        percent(table_fact(a, t, "sampled_percent", UNIT_PERCENT), s->ns, used);
    }
    t->note =
        "A sample stands for the CPU time since the one before it in its thread, so their sum "
        "is measured and its parts are estimates; 'used' is what the kernel has counted for "
        "all processes, recorded or not.";
}

/* All threads together: what is asked here is by stack. */
static void copy_time(struct cpu_time *to, const struct cpu_time *from)
{
    struct intmap places = {0};
    uint64_t place;

    *to = (struct cpu_time){.sums = from->sums};
    to->entries = memory_zeroed((from->count + 1) * sizeof(*from->entries));
    for (size_t i = 0; i < from->count; i++) {
        const struct cpu_entry *e = &from->entries[i];

        if (intmap_get(&places, e->stack, &place)) {
            cpu_sums_add(&to->entries[place].sums, &e->sums);
            continue;
        }
        intmap_put(&places, e->stack, to->count);
        to->entries[to->count++] = *e;
    }
    intmap_free(&places);
}

static int run(struct asked *q, struct err *err)
{
    const struct selection *o = q->options;
    uint64_t most = o->rows ? o->rows : ROWS;
    struct work w = {.frames = &q->recorded->frames, .run = recorded_whole(q->recorded)};
    struct answer *a = q->answer;

    (void)err;
    copy_time(&w.time, &q->recorded->cpu);
    covered_answer(a, w.run);
    if (w.time.sums.samples) {
        put_facts(a, &w, !o->from_ns && !o->to_ns);
        put_functions(a, &w, most);
        put_stacks(a, &w, most);
    } else {
        answer_add(a, "functions", TABLE_ROWS, functions, COUNT(functions))->note =
            "The trace holds no CPU samples.";
    }
    free(w.time.entries);
    intmap_free(&w.places);
    free(w.functions);
    return 0;
}

const struct question question_cpu = {
    .name = "cpu",
    .summary = "which functions use CPU time, in Python, in native code and in the kernel",
    .group = QUESTION_OF_CPU,
    .reads = RECORDED_CPU | RECORDED_RUN_WHOLE,
    .run = run,
};
