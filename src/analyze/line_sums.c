/* line_sums - see line_sums.h. The trace is read twice: what lived when is added up by line, and
 * which line a stack belongs to is known only when all stacks are.
 */
#include "analyze/line_sums.h"

#include "analyze/covered.h"
#include "analyze/heap_pass.h"
#include "analyze/heap_rows.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define SHARE_LEAST 0.0005 /* that is worth a word */

bool line_sum_is_empty(const struct line_sum *l)
{
    return !l->cpu.samples && !l->cpu.waits && !l->cpu.copies && !l->allocated.milliblocks &&
           !l->at_peak.milliblocks && !l->alive.milliblocks;
}

void line_sum_add(struct line_sum *to, const struct line_sum *from)
{
    cpu_sums_add(&to->cpu, &from->cpu);
    heap_add(&to->allocated, &from->allocated);
    heap_add(&to->python, &from->python);
    heap_add(&to->at_peak, &from->at_peak);
    heap_add(&to->alive, &from->alive);
}

static double share(uint64_t part, uint64_t whole)
{
    return whole ? (double)part / (double)whole : 0;
}

double line_sums_weight(const struct line_sums *s, const struct line_sum *l)
{
    const double shares[] = {
        share(l->cpu.ns, s->sum.cpu.ns),
        share(l->cpu.wait_ns, s->sum.cpu.wait_ns),
        share(l->cpu.copied, s->sum.cpu.copied),
        share(l->allocated.bytes, s->sum.allocated.bytes),
        share(l->allocated.milliblocks, s->sum.allocated.milliblocks),
        share(l->at_peak.bytes, s->sum.at_peak.bytes),
        share(l->alive.bytes, s->sum.alive.bytes),
    };
    double most = 0;

    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
        most = shares[i] > most ? shares[i] : most;
    return most;
}

/* ---- threads that a line of Python started ---- */

/* The line that started the thread, if that is to pay for this stack; NONE: the stack's own. */
static uint32_t started_by(const struct line_sums *s, uint64_t thread, uint64_t stack)
{
    uint64_t place;

    if (!blame_is_foreign(&s->blame, stack) || !intmap_get(&s->heap.pass->threads, thread, &place))
        return NONE;
    return s->creators[place - 1];
}

static bool find_creators(struct line_sums *s, struct arena *a)
{
    bool any = false;

    s->creators = arena_alloc(a, (s->heap.thread_count + 1) * sizeof(*s->creators));
    for (size_t i = 0; i < s->heap.thread_count; i++) {
        uint64_t creator = s->heap.threads[i]->creator;

        s->creators[i] = creator ? blame_creator(&s->blame, creator) : NONE;
        any = any || s->creators[i] != NONE;
    }
    return any;
}

#define OWN_LINE 1u /* the stack's own line pays */
#define OWNERS_DIFFER UINT32_MAX

struct owner {
    uint32_t line;    /* 0: not seen yet; 2 + a line; or one of the above */
    uint32_t creator; /* a stack that started such a thread */
};

static void own(struct line_sums *s, struct owner *owners, uint64_t thread, uint64_t stack)
{
    uint32_t line = started_by(s, thread, stack), owner = line == NONE ? OWN_LINE : line + 2;

    if (!stack || stack > s->heap.frames.stack_count || s->blame.python[stack])
        return;
    if (!owners[stack].line && line != NONE)
        owners[stack].creator = (uint32_t)heap_thread_of(&s->heap, thread)->creator;
    if (owners[stack].line != owner)
        owners[stack].line = owners[stack].line ? OWNERS_DIFFER : owner;
}

static void own_batch(struct line_sums *s, struct owner *owners, const struct trace_event *ev)
{
    const struct heap_process *p = heap_process_of(&s->heap, ev->batch.process);
    struct batch_reader r;
    struct batch_event e;

    if (!p || batch_open(&r, ev->tail, ev->tail_bytes, ev->time_ns, ev->batch.span_ns) < 0)
        return;
    while (batch_next(&r, &e) > 0)
        if (e.op == BATCH_ALLOC && e.info && e.info <= p->state->info_count)
            own(s, owners, e.thread, p->state->infos[e.info].stack);
}

/* Which line pays for what such threads allocate: a block is known by its stack alone, so a stack
 * that threads of several lines share is no line's.
 */
static void own_allocations(struct line_sums *s, struct trace *t)
{
    size_t stacks = s->heap.frames.stack_count;
    struct owner *owners = memory_zeroed((stacks + 1) * sizeof(*owners));
    struct trace_event ev;

    trace_rewind(t, 0, UINT64_MAX);
    while (trace_next(t, &ev)) {
        if (ev.kind == TRACE_BATCH)
            own_batch(s, owners, &ev);
        else if (ev.kind == TRACE_ALLOC)
            own(s, owners, ev.alloc.thread, ev.alloc.stack);
    }
    s->started = arena_alloc(s->scope.arena, (stacks + 1) * sizeof(*s->started));
    for (size_t i = 1; i <= stacks; i++) {
        if (owners[i].line <= OWN_LINE)
            continue;
        s->blame.of_stack[i] = owners[i].line == OWNERS_DIFFER ? SCOPE_NATIVE : owners[i].line - 2;
        s->started[i] = owners[i].line == OWNERS_DIFFER ? 0 : owners[i].creator;
    }
    free(owners);
}

/* ---- sums ---- */

static void add_to_stack(struct line_sums *s, uint64_t stack, const struct line_sum *what)
{
    for (; stack && stack <= s->heap.frames.stack_count;
         stack = s->heap.frames.stacks[stack].parent) {
        const uint32_t *functions;
        size_t n = blame_functions(&s->blame, s->heap.frames.stacks[stack].frame, &functions);

        for (size_t i = 0; i < n; i++) {
            struct line_sum *total = &s->totals[functions[i]];

            if (total->mark != s->sum.mark)
                line_sum_add(total, what);
            total->mark = s->sum.mark;
        }
    }
}

/* Each function of a stack once, however often it calls itself. */
static void add(struct line_sums *s, uint32_t line, uint64_t stack, uint64_t creator,
                const struct line_sum *what)
{
    uint32_t function = blame_function(&s->blame, creator ? creator : stack);

    line_sum_add(&s->lines[line], what);
    line_sum_add(&s->sum, what);
    if (line >= SCOPE_KINDS && function != NONE)
        line_sum_add(&s->selves[function], what);
    s->sum.mark++;
    add_to_stack(s, stack, what);
    add_to_stack(s, creator, what);
}

static void add_time(struct line_sums *s)
{
    for (size_t i = 0; i < s->time.count; i++) {
        const struct cpu_entry *e = &s->time.entries[i];
        const struct heap_thread *thread = heap_thread_of(&s->heap, e->thread);
        struct line_sum what = {.cpu = e->sums};
        uint32_t line = started_by(s, e->thread, e->stack);

        add(s, line == NONE ? blame_stack(&s->blame, e->stack) : line, e->stack,
            line == NONE || !thread ? 0 : thread->creator, &what);
    }
}

static uint64_t started_stack(const struct line_sums *s, uint64_t stack)
{
    return s->started && stack <= s->heap.frames.stack_count ? s->started[stack] : 0;
}

static void add_memory(struct line_sums *s)
{
    for (size_t i = 0; i < s->heap.stack_count; i++) {
        const struct heap_stack *h = &s->heap.stacks[i];
        struct line_sum what = {.allocated = h->sums.allocated,
                                .python = h->python,
                                .at_peak = h->at,
                                .alive = h->sums.live};

        add(s, blame_stack(&s->blame, h->number), h->number, started_stack(s, h->number), &what);
    }
}

static void read_again(struct line_sums *s, struct trace *t)
{
    struct trace_event ev;

    heap_series_begin(&s->series, &s->heap, t, s->blame.of_stack, s->blame.line_count);
    trace_rewind(t, 0, UINT64_MAX);
    while (trace_next(t, &ev)) {
        cpu_time_take(&s->time, &ev);
        sources_take(&s->sources, &s->heap.frames.names, &ev);
        heap_series_take(&s->series, &ev);
    }
    heap_series_end(&s->series);
}

void line_sums_read(struct line_sums *s, struct answer *a, struct trace *t,
                    const struct question_options *o)
{
    const char *command;

    memset(s, 0, sizeof(*s));
    s->time.from_ns = o->from_ns;
    s->time.to_ns = o->to_ns;
    s->scope = (struct scope){.arena = a->arena, .rules = o->scope};
    s->sources.arena = a->arena;
    heap_read(&s->heap, a->arena, t, o, NULL, NULL);
    covered_answer(a, &s->heap.run);
    command = names_find(&s->heap.run.names, TRACE_OF_RUN, "command");
    if (command)
        scope_command(&s->scope, command);
    for (size_t i = 0; i < s->heap.run.process_count; i++)
        if (s->heap.run.processes[i]->command)
            scope_command(&s->scope, s->heap.run.processes[i]->command);
    blame_read(&s->blame, &s->heap.frames, &s->scope);
    if (find_creators(s, a->arena) && s->heap.any)
        own_allocations(s, t);
    read_again(s, t);
    s->lines = memory_zeroed((s->blame.line_count + 1) * sizeof(*s->lines));
    s->selves = memory_zeroed((s->blame.function_count + 1) * sizeof(*s->selves));
    s->totals = memory_zeroed((s->blame.function_count + 1) * sizeof(*s->totals));
    add_time(s);
    add_memory(s);
    s->cpu_known = s->sum.cpu.samples;
    s->waits_known = s->sum.cpu.waits;
    s->copies_known = s->sum.cpu.copies;
    s->memory_known = s->heap.any;
    sources_give(&s->sources, a, names_find(&s->heap.run.names, TRACE_OF_RUN, "sources_changed"));
}

void line_sums_free(struct line_sums *s)
{
    free(s->lines);
    free(s->selves);
    free(s->totals);
    blame_free(&s->blame);
    cpu_time_free(&s->time);
    heap_free(&s->heap);
}

/* ---- cells ---- */

static void cells_of_cpu(const struct line_sums *s, struct table_cell *c, const struct cpu_sums *l)
{
    if (s->cpu_known) {
        heap_cell_percent(&c[0], (double)l->ns, (double)s->sum.cpu.ns);
        cell_number(&c[1], l->ns);
        for (int i = TRACE_CPU_PYTHON; i <= TRACE_CPU_SYSTEM; i++)
            cell_number(&c[1 + i], l->sort_ns[i]);
        if (l->ns)
            cell_real(&c[5], cpu_sums_error(l));
        cell_number(&c[14], l->in_copy_ns);
    }
    if (s->waits_known)
        cell_number(&c[6], l->wait_ns);
    if (s->copies_known)
        cell_number(&c[13], l->copied);
}

void line_sums_cells(const struct line_sums *s, struct table_cell *c, const struct line_sum *l)
{
    cells_of_cpu(s, c, &l->cpu);
    if (!s->memory_known)
        return;
    heap_cell_bytes(&c[7], &l->allocated);
    heap_cell_blocks(&c[8], &l->allocated);
    heap_cell_error(&c[9], &l->allocated);
    heap_cell_percent(&c[10], (double)l->python.bytes, (double)l->allocated.bytes);
    heap_cell_bytes(&c[11], &l->at_peak);
    heap_cell_bytes(&c[12], &l->alive);
}

/* ---- what is outside ---- */

static const char *and_share(struct arena *a, const char *so_far, uint64_t part, uint64_t whole,
                             const char *of)
{
    if (share(part, whole) < SHARE_LEAST)
        return so_far;
    return arena_printf(a, "%s%s%.1f %% of %s", so_far, *so_far ? ", " : "",
                        share(part, whole) * 100, of);
}

const char *line_sums_outside(const struct line_sums *s, struct arena *a)
{
    const struct scope_rules *rules = s->scope.rules;
    struct line_sum out = {0};
    const char *shares = "", *kinds = "";

    for (int kind = 0; kind < SCOPE_KINDS; kind++) {
        const char *text = scope_text((enum scope_kind)kind);

        if (line_sum_is_empty(&s->lines[kind]))
            continue;
        line_sum_add(&out, &s->lines[kind]);
        kinds = arena_printf(a, "%s%s%.*s", kinds, *kinds ? ", " : "", (int)strlen(text) - 2,
                             text + 1);
    }
    shares = and_share(a, shares, out.cpu.ns, s->sum.cpu.ns, "the CPU time");
    shares = and_share(a, shares, out.cpu.wait_ns, s->sum.cpu.wait_ns, "the waiting");
    shares = and_share(a, shares, out.allocated.bytes, s->sum.allocated.bytes,
                       "the allocated bytes");
    shares = and_share(a, shares, out.at_peak.bytes, s->sum.at_peak.bytes, "the peak");
    if (!*shares)
        return NULL;
    return arena_printf(a, "Under no line of the program's files: %s (%s)%s.", shares, kinds,
                        rules && rules->all ? "" : "; --all shows every file");
}
