/* pools - see pools.h. */
#include "model/pools.h"

#include "model/heap_pass.h"
#include "model/pool_owner.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define LIBRARIES_MOST 64 /* bytes of their names */

static bool has_python(const struct pools *p, uint64_t process)
{
    uint64_t first;

    return intmap_get(&p->processes, process, &first);
}

bool pools_own(const struct pools *p, const struct threads_thread *thread, uint64_t stack)
{
    uint64_t parent;

    if (!thread || !stack || stack > p->blame->frames->stack_count)
        return false;
    if (blame_is_foreign(p->blame, stack))
        return !p->main[thread->place] && has_python(p, thread->process);
    if (pool_code_flags(&p->code, (uint32_t)stack) & POOL_IDLE)
        return true;
    if (pool_owner_has_line(p, stack))
        return false;
    return !p->main[thread->place] || intmap_get(&p->parents, thread->process, &parent);
}

/* ---- who may be asked ---- */

/* Threads of Python that ended long ago are asked no more. */
static void unlist_old(struct pools *p, uint64_t process, uint64_t time_ns)
{
    struct pool_thread *t = pool_owner_first(p, process), *kept = NULL, *next;

    for (; t; t = next) {
        next = t->next;
        t->listed = !pool_times_over(t, time_ns);
        if (!t->listed)
            continue;
        t->next = kept;
        kept = t;
    }
    intmap_put(&p->processes, process, kept ? 1 + kept->thread->place : 0);
}

static void list(struct pools *p, struct pool_thread *t, uint64_t time_ns)
{
    unlist_old(p, t->thread->process, time_ns);
    t->next = pool_owner_first(p, t->thread->process);
    t->listed = true;
    intmap_put(&p->processes, t->thread->process, 1 + t->thread->place);
}

static void note(struct pools *p, struct pool_thread *t, const struct trace_event *ev)
{
    struct pool_event e = {ev->time_ns, ev->time_ns, (uint32_t)ev->cpu.stack, 0};

    if (ev->kind == TRACE_WAIT) {
        if (ev->wait.cause == TRACE_WAIT_QUEUE)
            return; /* where it ran last is known */
        e.from_ns -= ev->wait.ns < ev->time_ns ? ev->wait.ns : ev->time_ns;
        e.cause = ev->wait.cause ? (uint32_t)ev->wait.cause : TRACE_WAIT_OTHER;
    }
    pool_times_add(t, e);
    if (!t->listed)
        list(p, t, ev->time_ns);
}

/* ---- the answer ---- */

static struct pool_entry *entry_of(struct pools *p, uint32_t stack, uint32_t line, uint32_t owner)
{
    uint64_t key = hash_mix(hash_mix(hash_mix(5, stack), line), owner), place;

    if (!intmap_get(&p->places, key, &place)) {
        memory_fit(p->entries, p->entry_room, p->entry_count + 1);
        place = p->entry_count++;
        p->entries[place] = (struct pool_entry){.stack = stack, .line = line, .owner = owner};
        intmap_put(&p->places, key, place);
    }
    return &p->entries[place];
}

/* "libopenblas, libgomp" */
static void name_library(struct pools *p, uint32_t stack)
{
    const char *name = pool_code_library(&p->code, p->arena, stack);
    const char *known = p->libraries ? p->libraries : "";

    if (!name || strstr(known, name) || strlen(known) + strlen(name) > LIBRARIES_MOST)
        return;
    p->libraries = arena_printf(p->arena, "%s%s%s", known, *known ? ", " : "", name);
}

/* Has the thread nothing to do? A native one that waits for others, or for the time to pass, waits
 * to be given something, be it in lines of its own.
 */
static bool is_idle(const struct pools *p, const struct pool_work *w)
{
    if (w->sums.waits && w->cause != TRACE_WAIT_QUEUE &&
        pool_code_flags(&p->code, w->stack) & POOL_IDLE)
        return true;
    return w->sums.waits &&
           (blame_is_foreign(p->blame, w->stack) || !pool_owner_has_line(p, w->stack)) &&
           w->cause != TRACE_WAIT_QUEUE && w->cause != TRACE_WAIT_GIL &&
           w->cause != TRACE_WAIT_IO && w->cause != TRACE_WAIT_CHILD;
}

static struct pool_owner owner_of(struct pools *p, const struct pool_work *w)
{
    struct pool_owner own = {.line = blame_stack(p->blame, w->stack)}, found;
    bool native = blame_is_foreign(p->blame, w->stack);

    if (is_idle(p, w))
        return (struct pool_owner){.line = SCOPE_IDLE};
    if (!native && pool_owner_has_line(p, w->stack))
        return own;
    found = native ? pool_owner_of_native(p, w)
                   : pool_owner_of_python(p, &p->each[w->place], w->time_ns);
    if (found.line != POOL_NO_LINE)
        return found;
    if (native) {
        name_library(p, w->stack);
        own.line = SCOPE_WORKERS;
    }
    return own;
}

static void settle(struct pools *p, const struct pool_work *w)
{
    struct pool_owner owner = owner_of(p, w);

    owner.stack = owner.line < SCOPE_KINDS ? 0 : owner.stack;
    if (w->group) {
        p->groups.list[w->group - 1].line = owner.line;
        p->groups.list[w->group - 1].owner = owner.stack;
    } else if (w->block)
        pool_blocks_give(&p->blocks, w->block - 1, owner.line, owner.stack);
    else
        cpu_sums_add(&entry_of(p, w->stack, owner.line, owner.stack)->sums, &w->sums);
}

static void settle_until(struct pools *p, uint64_t time_ns)
{
    for (; p->first < p->count && p->works[p->first].time_ns < time_ns; p->first++)
        if (p->works[p->first].child)
            pool_owner_of_process(p, p->works[p->first].child, p->works[p->first].time_ns);
        else
            settle(p, &p->works[p->first]);
    if (p->first < 64 || p->first * 2 < p->count)
        return;
    p->count -= p->first;
    memmove(p->works, p->works + p->first, p->count * sizeof(*p->works));
    p->first = 0;
}

static void add_work(struct pools *p, struct pool_work w)
{
    memory_fit(p->works, p->room, p->count + 1);
    p->works[p->count++] = w;
}

static void defer(struct pools *p, const struct threads_thread *t, const struct trace_event *ev)
{
    struct pool_work w = {.time_ns = ev->time_ns,
                          .place = t->place,
                          .stack = (uint32_t)ev->cpu.stack,
                          .cause = ev->kind == TRACE_WAIT ? (uint32_t)ev->wait.cause : 0};

    if (cpu_time_of(p->time, ev, &w.sums))
        add_work(p, w);
}

/* Blocks that are known one by one, and mappings; of stacks with a line nothing is asked. */
static void take_born(struct pools *p, const struct threads_thread *t, const struct trace_event *ev)
{
    uint64_t stack = ev->alloc.stack;
    size_t block;

    if (!stack || stack > p->blame->frames->stack_count)
        return;
    if (pool_owner_has_line(p, stack) && !blame_is_foreign(p->blame, stack))
        return;
    block = pool_blocks_born(&p->blocks, t->process, ev);
    if (block == SIZE_MAX)
        return;
    pool_blocks_give(&p->blocks, block, blame_stack(p->blame, stack), 0);
    if (pools_own(p, t, stack))
        add_work(p, (struct pool_work){.time_ns = ev->time_ns,
                                       .place = t->place,
                                       .block = block + 1,
                                       .stack = (uint32_t)stack});
}

static void take_block(struct pools *p, const struct trace_event *ev)
{
    const struct threads_thread *t = threads_find(p->threads, ev->alloc.thread);

    if (!t)
        return;
    pool_blocks_freed(&p->blocks, t->process, ev); /* also what another takes the place of */
    if (ev->kind == TRACE_ALLOC)
        take_born(p, t, ev);
}

/* How much of a mapping is there when is the heap's to say: a mapping only tells whose its stack's
 * are. */
static void take_mapping(struct pools *p, const struct trace_event *ev)
{
    const struct threads_thread *t = threads_find(p->threads, ev->mmap.thread);
    struct trace_event born = {.kind = TRACE_ALLOC, .time_ns = ev->time_ns, .present = 4};

    born.alloc.thread = ev->mmap.thread;
    born.alloc.address = ev->mmap.address;
    born.alloc.bytes = ev->mmap.bytes;
    born.alloc.stack = ev->mmap.stack;
    if (t)
        take_born(p, t, &born);
}

bool pools_may_own(const struct pools *p, uint64_t stack)
{
    return !stack || blame_is_foreign(p->blame, stack) || !pool_owner_has_line(p, stack) ||
           pool_code_flags(&p->code, (uint32_t)stack) & POOL_IDLE;
}

bool pools_want(void *pools, const struct heap_process *process, uint64_t stack)
{
    const struct pools *p = pools;

    (void)process;
    return stack && (!pool_owner_has_line(p, stack) || blame_is_foreign(p->blame, stack));
}

/* The same for those that are known by their infos alone. */
void pools_take_exact(void *pools, const struct heap_change *c)
{
    struct pools *p = pools;
    const struct threads_thread *t;
    size_t group;
    bool is_new;

    if (!c->info)
        return;
    pool_groups_move(&p->groups, c, heap_together_events(p->heap, c->process));
    if (c->freed) {
        pool_groups_freed(&p->groups, c);
        return;
    }
    group = pool_groups_born(&p->groups, c, &is_new);
    if (group == SIZE_MAX || !is_new)
        return;
    p->groups.list[group].line = blame_stack(p->blame, c->stack);
    t = threads_find(p->threads, c->thread);
    if (t && pools_own(p, t, c->stack))
        add_work(p, (struct pool_work){.time_ns = c->time_ns,
                                       .place = t->place,
                                       .group = group + 1,
                                       .stack = (uint32_t)c->stack});
}

static void take_start(struct pools *p, const struct trace_event *ev)
{
    struct pool_start one = {.time_ns = ev->time_ns, .stack = (uint32_t)ev->started.stack};
    uint64_t before = 0;

    if (ev->started.stack > p->blame->frames->stack_count)
        return;
    intmap_get(&p->last_start, ev->started.pid, &before);
    one.before = before;
    memory_fit(p->starts, p->start_room, p->start_count + 1);
    p->starts[p->start_count++] = one;
    intmap_put(&p->last_start, ev->started.pid, p->start_count);
}

void pools_take(void *pools, const struct trace_event *ev)
{
    struct pools *p = pools;
    const struct threads_thread *t;

    if (ev->kind == TRACE_ALLOC || ev->kind == TRACE_FREE)
        take_block(p, ev);
    if (ev->kind == TRACE_MMAP)
        take_mapping(p, ev);
    if (ev->kind == TRACE_STARTED)
        take_start(p, ev);
    if (ev->kind == TRACE_PROCESS)
        add_work(p, (struct pool_work){.time_ns = ev->time_ns, .child = ev->process.process});
    if (ev->kind != TRACE_CPU && ev->kind != TRACE_WAIT && ev->kind != TRACE_COPY)
        return;
    t = threads_find(p->threads, ev->cpu.thread); /* all three begin with it, and their stack */
    if (!t || ev->cpu.stack > p->blame->frames->stack_count)
        return;
    if (ev->time_ns > POOL_WINDOW_NS)
        settle_until(p, ev->time_ns - POOL_WINDOW_NS);
    if (pools_own(p, t, ev->cpu.stack))
        defer(p, t, ev);
    if (ev->kind != TRACE_COPY && !blame_is_foreign(p->blame, ev->cpu.stack))
        note(p, &p->each[t->place], ev);
}

/* ---- from beginning to end ---- */

static void find_python(struct pools *p)
{
    for (size_t i = 0; i < p->time->count; i++) {
        const struct cpu_entry *e = &p->time->entries[i];
        const struct threads_thread *t = threads_find(p->threads, e->thread);

        if (t && !blame_is_foreign(p->blame, e->stack))
            intmap_put(&p->processes, t->process, 0);
    }
}

void pools_start(struct pools *p, const struct blame *b, const struct cpu_time *time,
                 struct threads *threads, const struct run *r, const struct heap *h,
                 struct arena *a)
{
    uint64_t pid;

    *p = (struct pools){.blame = b, .time = time, .threads = threads, .heap = h, .arena = a};
    pool_code_start(&p->code, b);
    p->each = memory_zeroed((threads->count + 1) * sizeof(*p->each));
    p->main = memory_zeroed((threads->count + 1) * sizeof(*p->main));
    for (size_t i = 0; i < r->process_count; i++) {
        const struct run_process *one = r->processes[i];

        intmap_put(&p->pids, one->number, one->pid);
        if (one->parent)
            intmap_put(&p->parents, one->number, one->parent->number);
    }
    for (size_t i = 0; i < threads->count; i++) {
        p->each[i].thread = threads->list[i];
        p->main[i] = !threads->list[i]->creator &&
                     intmap_get(&p->pids, threads->list[i]->process, &pid) &&
                     pid == threads->list[i]->tid;
    }
    find_python(p);
}

void pools_end(struct pools *p)
{
    settle_until(p, UINT64_MAX);
    pool_groups_end(&p->groups, p->heap);
    pool_blocks_end(&p->blocks, &p->groups, p->heap->peak_ns);
}

void pools_free(struct pools *p)
{
    for (size_t i = 0; i < p->threads->count; i++)
        free(p->each[i].events);
    pool_code_free(&p->code);
    pool_blocks_free(&p->blocks);
    pool_groups_free(&p->groups);
    intmap_free(&p->processes);
    intmap_free(&p->parents);
    intmap_free(&p->starters);
    intmap_free(&p->pids);
    intmap_free(&p->last_start);
    free(p->starts);
    intmap_free(&p->places);
    free(p->each);
    free(p->main);
    free(p->works);
    free(p->entries);
}
