/* cpu_functions - the question `cpu`: which functions use CPU time themselves, and with all that they
 * call; how much of it is Python, native code and the kernel; and how much of what the kernel has
 * counted was seen.
 *
 * A function that is on a stack several times has its time once. Code without a name is one row per
 * file of code. What the interpreter itself does for a line of Python is that function's own.
 */
#include "analyze/covered.h"
#include "analyze/cpu_read.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))
#define ROWS 30

static const struct table_column functions[] = {
    {"self", UNIT_NS},
    {"self_percent", UNIT_PERCENT},
    {"total", UNIT_NS},
    {"total_percent", UNIT_PERCENT},
    {"error_percent", UNIT_PERCENT},
    {"python", UNIT_NS},
    {"native", UNIT_NS},
    {"system", UNIT_NS},
    {"copying", UNIT_NS},
    {"samples", UNIT_COUNT},
    {"function", UNIT_TEXT},
    {"module", UNIT_TEXT},
};

static const struct table_column stacks[] = {
    {"cpu", UNIT_NS},        {"percent", UNIT_PERCENT}, {"error_percent", UNIT_PERCENT},
    {"samples", UNIT_COUNT}, {"site", UNIT_TEXT},       {"stack", UNIT_STACK},
};

struct function {
    struct table_frame name;
    struct cpu_sums self, total;
    size_t seen; /* the last entry that it was part of, from 1 */
};

struct work {
    struct cpu_time time;
    struct frames frames;
    struct run run;
    struct function *functions;
    size_t count, room;
    struct intmap places;
};

/* Texts are kept once each, so their place stands for them. */
static uint64_t key_of(const struct table_frame *f)
{
    uint64_t key = intmap_mix(intmap_mix(1, (uintptr_t)f->module), (uintptr_t)f->function);

    return f->flags & TABLE_FRAME_PYTHON ? intmap_mix(key, (uintptr_t)f->file) : key;
}

static struct function *function_of(struct work *w, const struct table_frame *f)
{
    uint64_t key = key_of(f), place;

    if (intmap_get(&w->places, key, &place))
        return &w->functions[place];
    if (w->count == w->room) {
        w->room = w->room ? w->room * 2 : 64;
        w->functions = memory_resize(w->functions, w->room * sizeof(*w->functions));
    }
    intmap_put(&w->places, key, w->count);
    w->functions[w->count] = (struct function){.name = *f};
    return &w->functions[w->count++];
}

static bool is_own(const struct cpu_sums *s, const struct table_frame *f)
{
    return f->flags & TABLE_FRAME_PYTHON || s->sort_ns[TRACE_CPU_PYTHON] * 2 < s->ns;
}

static void add_entry(struct work *w, size_t number)
{
    const struct cpu_entry *e = &w->time.entries[number - 1];
    const struct frames *f = &w->frames;
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
    const char *base = f->module ? strrchr(f->module, '/') : NULL;

    if (!f->function)
        return f->module ? arena_printf(a, "[%s]", base ? base + 1 : f->module)
                         : "[code without a file]";
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

static void sorts(struct table_cell *c, const struct cpu_sums *s)
{
    cell_number(&c[0], s->sort_ns[TRACE_CPU_PYTHON]);
    cell_number(&c[1], s->sort_ns[TRACE_CPU_NATIVE]);
    cell_number(&c[2], s->sort_ns[TRACE_CPU_SYSTEM]);
    cell_number(&c[3], s->in_copy_ns);
}

static void put_function(struct answer *a, struct table *t, const struct work *w,
                         const struct function *f)
{
    struct table_cell *c = table_add(a, t);

    cell_number(&c[0], f->self.ns);
    percent(&c[1], f->self.ns, w->time.sums.ns);
    cell_number(&c[2], f->total.ns);
    percent(&c[3], f->total.ns, w->time.sums.ns);
    error(&c[4], w, &f->total);
    sorts(&c[5], &f->total);
    cell_number(&c[9], f->total.samples);
    cell_text(&c[10], name_of(a->arena, &f->name));
    cell_text(&c[11], f->name.module);
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

/* One number for all stacks of the same functions, whatever the lines. A parent comes before its
 * children.
 */
static uint64_t *stack_keys(const struct frames *f)
{
    uint64_t *keys = memory_zeroed((f->stack_count + 1) * sizeof(*keys));
    struct table_frame names[FRAMES_INLINED_MOST];

    for (size_t i = 1; i <= f->stack_count; i++) {
        size_t n = frames_expand(f, f->stacks[i].frame, names, FRAMES_INLINED_MOST);

        keys[i] = intmap_mix(keys[f->stacks[i].parent], n);
        while (n--)
            keys[i] = intmap_mix(intmap_mix(keys[i], key_of(&names[n])), names[n].flags);
    }
    return keys;
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
    uint64_t *keys = stack_keys(f), place;
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
    size_t count = merge_entries(&w->time, &w->frames);

    for (size_t i = 0; i < count && i < most && w->time.entries[i].sums.ns; i++) {
        const struct cpu_entry *e = &w->time.entries[i];
        const struct table_stack *stack = frames_stack(&w->frames, a->arena, e->stack);
        struct table_cell *c = table_add(a, t);

        cell_number(&c[0], e->sums.ns);
        percent(&c[1], e->sums.ns, w->time.sums.ns);
        error(&c[2], w, &e->sums);
        cell_number(&c[3], e->sums.samples);
        cell_text(&c[4],
                  stack ? table_frame_text(a->arena, &stack->frames[0]) : "(stack not known)");
        cell_stack(&c[5], stack);
    }
    if (count > most)
        t->note = arena_printf(a->arena, "%zu stacks in all.", count);
}

static void put_facts(struct answer *a, const struct work *w, bool whole)
{
    static const struct table_column columns[] = {{"name", UNIT_TEXT}, {"value", UNIT_TEXT}};
    struct table *t = answer_add(a, "cpu", TABLE_FACTS, columns, COUNT(columns));
    const struct cpu_sums *s = &w->time.sums;
    uint64_t used;

    cell_number(table_fact(a, t, "sampled", UNIT_NS), s->ns);
    cell_number(table_fact(a, t, "samples", UNIT_COUNT), s->samples);
    cell_number(table_fact(a, t, "python", UNIT_NS), s->sort_ns[TRACE_CPU_PYTHON]);
    cell_number(table_fact(a, t, "native", UNIT_NS), s->sort_ns[TRACE_CPU_NATIVE]);
    cell_number(table_fact(a, t, "system", UNIT_NS), s->sort_ns[TRACE_CPU_SYSTEM]);
    cell_number(table_fact(a, t, "copying", UNIT_NS), s->in_copy_ns);
    cell_number(table_fact(a, t, "without_stack", UNIT_NS), s->sort_ns[0]);
    if (whole && run_total(&w->run, METRIC_CPU_NS, &used) && used) {
        cell_number(table_fact(a, t, "used", UNIT_NS), used);
        percent(table_fact(a, t, "sampled_percent", UNIT_PERCENT), s->ns, used);
    }
    t->note =
        "A sample stands for the CPU time since the one before it in its thread, so their sum "
        "is measured and its parts are estimates; 'used' is what the kernel has counted for "
        "all processes, recorded or not.";
}

static int run(struct trace *t, const struct question_options *o, struct answer *a, struct err *err)
{
    uint64_t most = o->rows ? o->rows : ROWS;
    struct work w = {0};

    (void)err;
    cpu_read(&w.time, &w.frames, &w.run, t, o, a->arena);
    covered_answer(a, &w.run);
    if (w.time.sums.samples) {
        put_facts(a, &w, !o->from_ns && !o->to_ns);
        put_functions(a, &w, most);
        put_stacks(a, &w, most);
    } else {
        answer_add(a, "functions", TABLE_ROWS, functions, COUNT(functions))->note =
            "The trace holds no CPU samples.";
    }
    cpu_time_free(&w.time);
    intmap_free(&w.places);
    free(w.functions);
    frames_free(&w.frames);
    return 0;
}

const struct question question_cpu = {
    .name = "cpu",
    .summary = "which functions use CPU time, in Python, in native code and in the kernel",
    .run = run,
};
