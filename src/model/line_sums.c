/* line_sums - see line_sums.h. What lived when is added up by line, and which line a stack belongs
 * to is known only when all stacks are: so the events are taken again.
 */
#include "model/line_sums.h"

#include "base/count.h"
#include "base/memory.h"
#include "model/allowed.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

bool line_sum_is_empty(const struct line_sum *l)
{
    return !l->cpu.samples && !l->cpu.wait_ns && !l->cpu.copies && !l->allocated.milliblocks &&
           !l->at_peak.milliblocks && !l->alive.milliblocks;
}

void line_sum_add(struct line_sum *to, const struct line_sum *from)
{
    cpu_sums_add(&to->cpu, &from->cpu);
    heap_add(&to->allocated, &from->allocated);
    heap_add(&to->python, &from->python);
    heap_add(&to->at_peak, &from->at_peak);
    to->mapped_at_peak += from->mapped_at_peak;
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

    for (int i = 0; i < COUNT(shares); i++)
        most = shares[i] > most ? shares[i] : most;
    return most;
}

/* ---- sums ---- */

static void add_to_stack(struct line_sums *s, uint64_t stack, const struct line_sum *what)
{
    for (; stack && stack <= s->frames->stack_count; stack = s->frames->stacks[stack].parent) {
        const struct blame_name *names;
        size_t n = blame_names(&s->blame, s->frames->stacks[stack].frame, &names);

        for (size_t i = 0; i < n; i++) {
            struct line_sum *total = &s->totals[names[i].function];

            if (total->mark != s->sum.mark)
                line_sum_add(total, what);
            total->mark = s->sum.mark;
        }
    }
}

/* Each stack is walked once, and all of them have a limit; one that starts many threads is walked
 * again and again, and has one, too.
 */
static bool may_walk(struct line_sums *s, uint64_t creator)
{
    uint64_t depth = creator <= s->frames->stack_count ? s->frames->stacks[creator].depth : 0;

    if (s->walked + depth > ALLOWED_DEPTHS(s->frames->names->file_bytes)) {
        s->recorded->frames.cut++;
        return false;
    }
    s->walked += depth;
    return true;
}

/* Each function of a stack once, however often it calls itself. */
static void add(struct line_sums *s, struct blame_name who, uint64_t stack, uint64_t creator,
                const struct line_sum *what)
{
    uint32_t line = who.line, function = who.function;

    line_sum_add(&s->lines[line], what);
    line_sum_add(&s->sum, what);
    if (line >= SCOPE_KINDS && function != NONE)
        line_sum_add(&s->selves[function], what);
    s->sum.mark++;
    add_to_stack(s, stack, what);
    if (creator && may_walk(s, creator))
        add_to_stack(s, creator, what);
}

static struct blame_name who_pays(const struct line_sums *s, uint32_t line, uint64_t stack,
                                  uint64_t creator)
{
    return (struct blame_name){line, blame_function(&s->blame, creator ? creator : stack)};
}

static struct blame_name holder_of(const struct line_sums *s, uint64_t stack)
{
    return (struct blame_name){s->holders.lines[stack],
                               holders_function(&s->holders, &s->blame, stack)};
}

/* What each stack's own line pays for, of all threads: a stack is walked once. */
static size_t merge_time(struct line_sums *s, struct cpu_entry *all)
{
    struct intmap places = {0};
    size_t count = 0;

    for (size_t i = 0; i < s->time->count; i++) {
        const struct cpu_entry *e = &s->time->entries[i];
        uint64_t place;

        if (pools_own(&s->pools, threads_find(&s->recorded->threads, e->thread), e->stack))
            continue;
        if (intmap_get(&places, e->stack, &place)) {
            cpu_sums_add(&all[place].sums, &e->sums);
            continue;
        }
        intmap_put(&places, e->stack, count);
        all[count++] = *e;
    }
    intmap_free(&places);
    return count;
}

static void add_time(struct line_sums *s)
{
    struct cpu_entry *all = memory_zeroed((s->time->count + 1) * sizeof(*all));
    size_t count = merge_time(s, all);

    for (size_t i = 0; i < count; i++) {
        struct line_sum what = {.cpu = all[i].sums};

        add(s, who_pays(s, blame_stack(&s->blame, all[i].stack), all[i].stack, 0), all[i].stack, 0,
            &what);
    }
    for (size_t i = 0; i < s->pools.entry_count; i++) {
        const struct pool_entry *e = &s->pools.entries[i];
        struct line_sum what = {.cpu = e->sums};

        add(s, who_pays(s, e->line, e->stack, e->owner), e->stack, e->owner, &what);
    }
    free(all);
}

/* Never more than all of it, however large. */
static uint64_t share_of(uint64_t whole, double share)
{
    double part = (double)whole * share;

    return part < (double)whole ? (uint64_t)part : whole;
}

/* The part of an amount, which becomes less by it. */
static struct heap_amount take_part(struct heap_amount *from, uint64_t part, uint64_t whole)
{
    double share = whole ? (double)part / (double)whole : 0;
    struct heap_amount out = *from;

    if (part < whole)
        out = (struct heap_amount){share_of(from->bytes, share), share_of(from->milliblocks, share),
                                   from->variance * share, from->of_blocks * share};
    from->bytes -= out.bytes;
    from->milliblocks -= out.milliblocks;
    from->variance -= out.variance;
    from->of_blocks -= out.of_blocks;
    return out;
}

/* The sampled blocks say which parts of it are whose. The last one has what is left. */
static void add_shares(struct line_sums *s, uint64_t stack, struct line_sum rest,
                       const struct pool_share *shares, size_t count)
{
    struct pool_share left = {0};

    for (size_t i = 0; i < count; i++) {
        left.allocated += shares[i].allocated;
        left.at_peak += shares[i].at_peak;
        left.alive += shares[i].alive;
    }
    for (size_t i = 0; i < count; i++) {
        const struct pool_share *one = &shares[i];
        bool last = i + 1 == count, peak = left.at_peak, alive = left.alive;
        struct line_sum what = rest;

        if (!last) {
            what.allocated = take_part(&rest.allocated, one->allocated, left.allocated);
            what.python = take_part(&rest.python, one->allocated, left.allocated);
            what.at_peak = take_part(&rest.at_peak, peak ? one->at_peak : one->allocated,
                                     peak ? left.at_peak : left.allocated);
            what.alive = take_part(&rest.alive, alive ? one->alive : one->allocated,
                                   alive ? left.alive : left.allocated);
        }
        what.mapped_at_peak = what.at_peak.bytes < rest.mapped_at_peak ? what.at_peak.bytes
                                                                       : rest.mapped_at_peak;
        rest.mapped_at_peak -= what.mapped_at_peak;
        add(s, who_pays(s, one->line, stack, one->owner), stack, one->owner, &what);
        left.allocated -= one->allocated;
        left.at_peak -= one->at_peak;
        left.alive -= one->alive;
    }
}

static void add_memory(struct line_sums *s)
{
    for (size_t i = 0; i < s->heap->stack_count; i++) {
        const struct heap_stack *h = &s->heap->stacks[i];
        uint64_t stack = h->number <= s->frames->stack_count ? h->number : 0;
        struct heap_stack_sum sum = heap_stack_sum(s->heap, h);
        struct heap_count python = heap_stack_python(s->heap, h);
        struct line_sum what = {.allocated = sum.sums.allocated,
                                .python = {python.bytes, python.milliblocks, 0, 0},
                                .at_peak = sum.at,
                                .mapped_at_peak = sum.at_mapped + sum.at_shared,
                                .alive = sum.sums.live};
        const struct pool_share *shares;
        size_t count = pool_blocks_of(&s->pools.blocks, stack, &shares);

        if (count && s->holders.lines[stack] != SCOPE_ARENAS)
            add_shares(s, stack, what, shares, count);
        else
            add(s, holder_of(s, stack), stack, s->holders.started[stack], &what);
    }
}

static void learn_commands(struct line_sums *s)
{
    const struct run *r = &s->recorded->run;
    const char *command = names_find(r->names, TRACE_OF_RUN, FACT_COMMAND);

    if (command)
        scope_command(&s->scope, command);
    for (size_t i = 0; i < r->process_count; i++)
        if (r->processes[i]->command)
            scope_command(&s->scope, r->processes[i]->command);
}

/* Where there is but one thread, nothing is read again for it. */
static void want_pools(struct line_sums *s)
{
    struct recorded *r = s->recorded;
    uint64_t to_ns = r->selection.to_ns;

    pools_start(&s->pools, &s->blame, s->time, &r->threads, &r->run, s->heap, &r->arena);
    if (r->threads.count <= 1)
        return;
    recorded_take_again(r, pools_take, &s->pools, to_ns ? to_ns + POOL_WINDOW_NS : UINT64_MAX);
    if (s->heap->exact && s->pools.processes.used)
        heap_replay_add_some(s->heap->replay, pools_take_exact, pools_want, &s->pools, UINT64_MAX);
}

void line_sums_want(struct line_sums *s, struct recorded *r, const struct selection *o, bool series)
{
    *s = (struct line_sums){
        .recorded = r, .heap = &r->heap, .frames = &r->frames, .time = &r->cpu, .followed = series};
    s->scope = (struct scope){.arena = &r->arena, .rules = o->scope};
    learn_commands(s);
    blame_read(&s->blame, s->frames, &s->scope);
    want_pools(s);
    holders_find(&s->holders, &s->pools.code, &r->creators, s->heap, &r->arena);
    heap_want(s->heap, HEAP_AT_PEAK, 0);
    if (series)
        heap_series_want(&s->series, s->heap, trace_last_ns(r->trace), s->holders.lines,
                         s->blame.line_count);
}

void line_sums_read(struct line_sums *s)
{
    if (s->followed)
        heap_series_end(&s->series);
    heap_at(s->heap, HEAP_AT_PEAK, 0);
    s->lines = memory_zeroed((s->blame.line_count + 1) * sizeof(*s->lines));
    s->selves = memory_zeroed((s->blame.function_count + 1) * sizeof(*s->selves));
    s->totals = memory_zeroed((s->blame.function_count + 1) * sizeof(*s->totals));
    pools_end(&s->pools);
    add_time(s);
    add_memory(s);
    s->cpu_known = s->sum.cpu.samples;
    s->waits_known = s->sum.cpu.waits;
    s->copies_known = s->sum.cpu.copies;
    s->memory_known = s->heap->any;
}

void line_sums_free(struct line_sums *s)
{
    free(s->lines);
    free(s->selves);
    free(s->totals);
    pools_free(&s->pools);
    holders_free(&s->holders);
    blame_free(&s->blame);
    scope_free(&s->scope);
}

const char *line_sums_kind(const struct line_sums *s, struct arena *a, uint32_t line)
{
    if (line == SCOPE_WORKERS && s->pools.libraries)
        return arena_printf(a, "(worker threads of %s)", s->pools.libraries);
    if (line == SCOPE_ARENAS && s->holders.arenas)
        return s->holders.arenas;
    return scope_text((enum scope_kind)line);
}
