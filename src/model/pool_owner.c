/* pool_owner - see pool_owner.h. */
#include "model/pool_owner.h"

#include "base/clock.h"

#define NONE POOL_NO_LINE
#define CALLERS_MOST 512 /* threads of a process that are asked about one sample */
#define STEPS_MOST 128   /* of their samples that are looked at, to either side */
#define SOON_NS 40000000u
#define PARENTS_MOST 8 /* processes that one may descend from, forked or by exec */

bool pool_owner_has_line(const struct pools *p, uint64_t stack)
{
    uint32_t line = blame_stack(p->blame, stack);

    return line >= SCOPE_KINDS || line == SCOPE_LEFT_OUT;
}

struct pool_thread *pool_owner_first(const struct pools *p, uint64_t process)
{
    uint64_t first;

    return intmap_get(&p->processes, process, &first) && first ? &p->each[first - 1] : NULL;
}

/* ---- a thread of a library that runs Python ---- */

/* Does a line of the program wait for somebody's work there? */
static bool waits_for_work(const struct pools *p, const struct pool_event *e)
{
    unsigned int flags = pool_code_flags(&p->code, e->stack);

    return flags & POOL_LINE && !(flags & (POOL_IMPORTS | POOL_BEGINS)) &&
           (!(flags & POOL_OWN) || e->cause == TRACE_WAIT_LOCK);
}

/* Score 0: it has not said what is to be done. */
static struct pool_owner line_that_started(const struct pools *p, uint64_t creator)
{
    uint32_t line = creator ? blame_creator(p->blame, creator) : NONE;
    unsigned int flags = pool_code_flags(&p->code, (uint32_t)creator);

    if (line == NONE || flags & POOL_IMPORTS)
        return (struct pool_owner){.line = NONE};
    return (struct pool_owner){
        .stack = (uint32_t)creator, .line = line, .score = !(flags & POOL_MAKES)};
}

#define SCORE_ALL 2u /* of a creator: all that is done was said there */

/* The line that started a thread or else its process; score 0 also where only when is known of
 * that. */
static struct pool_owner creator_of(const struct pools *p, const struct threads_thread *t)
{
    struct pool_owner one = line_that_started(p, t->creator);
    uint64_t starter;

    if (one.line != NONE || !intmap_get(&p->starters, t->process, &starter))
        return one;
    one = line_that_started(p, starter & UINT32_MAX);
    if (one.line == NONE)
        return one;
    if (starter & POOL_SURE && pool_code_flags(&p->code, (uint32_t)starter) & POOL_ALONE)
        one.score = SCORE_ALL;
    else if (!(starter & POOL_SURE) &&
             !(pool_code_flags(&p->code, (uint32_t)starter) & POOL_STARTS))
        one.score = 0;
    return one;
}

static struct pool_owner waiter_in(const struct pools *p, uint64_t process,
                                   const struct pool_thread *worker, uint32_t creator,
                                   uint64_t time_ns)
{
    uint64_t born_ns = worker->thread->creator ? worker->thread->from_ns
                                               : 0; /* nobody waits before */
    struct pool_owner best = {.line = NONE};
    int asked = 0;

    for (struct pool_thread *t = pool_owner_first(p, process); t && asked < CALLERS_MOST;
         t = t->next, asked++) {
        const struct pool_event *e = t == worker ? NULL : pool_times_blocked(t, time_ns);
        struct pool_owner one;

        if (!e || !waits_for_work(p, e) || e->from_ns < born_ns)
            continue;
        one = (struct pool_owner){e->stack, blame_stack(p->blame, e->stack), 1, 0, t};
        one.score += pool_code_flags(&p->code, e->stack) & POOL_OWN ? 0 : 1;
        one.score += one.line == creator ? 2 : 0;
        if (one.score > best.score)
            best = one;
    }
    return best;
}

static struct pool_owner waiter_at(const struct pools *p, const struct pool_thread *worker,
                                   uint32_t creator, uint64_t time_ns)
{
    uint64_t process = worker->thread->process;
    struct pool_owner found = waiter_in(p, process, worker, creator, time_ns);

    for (int i = 0; i < PARENTS_MOST && found.line == NONE; i++) {
        if (!intmap_get(&p->parents, process, &process))
            break;
        found = waiter_in(p, process, worker, creator, time_ns);
    }
    return found;
}

/* Work begins before somebody waits for it, and waits are looked at some 50 times a second. */
static struct pool_owner waiter_of(const struct pools *p, const struct pool_thread *worker,
                                   uint32_t creator, uint64_t time_ns)
{
    struct pool_owner now = waiter_at(p, worker, creator, time_ns);

    return now.line == NONE ? waiter_at(p, worker, creator, time_ns + SOON_NS) : now;
}

/* Who waited first since the thread was started waits for what was given to it then; who waits
 * elsewhere has given it something new.
 */
struct pool_owner pool_owner_of_python(const struct pools *p, struct pool_thread *worker,
                                       uint64_t time_ns)
{
    struct pool_owner creator = creator_of(p, worker->thread);
    struct pool_owner waiter;

    if (creator.score == SCORE_ALL)
        return creator;
    waiter = waiter_of(p, worker, creator.line, time_ns);
    if (waiter.line == NONE)
        return creator;
    if (!worker->waiter)
        worker->waiter = waiter.line;
    return worker->waiter == waiter.line && creator.score ? creator : waiter;
}

/* ---- a native thread ---- */

#define SCORE_THERE 1000u /* it is there now */
#define SCORE_WAITS 500u  /* it waits in native code */
#define SCORE_NEAR 100u   /* it was there not long ago, or will be */

static uint64_t between(uint64_t a, uint64_t b)
{
    return a < b ? b - a : a - b;
}

static uint64_t away(const struct pool_event *e, uint64_t time_ns)
{
    return e->to_ns < time_ns   ? time_ns - e->to_ns
         : e->from_ns > time_ns ? e->from_ns - time_ns
                                : 0;
}

static void improve(struct pool_owner *best, struct pool_thread *t, uint32_t stack,
                    unsigned int score, uint64_t away_ns)
{
    if (score > best->score || (score == best->score && away_ns < best->away_ns))
        *best = (struct pool_owner){stack, NONE, score, away_ns, t};
}

static unsigned int rank_of(struct pools *p, const struct pool_event *e, uint32_t worker)
{
    if (e->cause || pool_code_flags(&p->code, e->stack) & POOL_IMPORTS)
        return 0;
    return pool_code_rank(&p->code, e->stack, worker);
}

/* The nearest of its samples in the worker's library, to one side. */
static const struct pool_event *nearest(struct pools *p, const struct pool_thread *t, size_t at,
                                        int step, uint64_t time_ns, uint32_t worker)
{
    for (int i = 0; i < STEPS_MOST && at >= t->first && at < t->count; i++, at += (size_t)step) {
        const struct pool_event *e = &t->events[at];

        if (away(e, time_ns) > POOL_WINDOW_NS)
            return NULL;
        if (rank_of(p, e, worker))
            return e;
    }
    return NULL;
}

/* A thread that is blocked in native code is where its last sample was, if that is of the same
 * line. */
static void ask_blocked(struct pools *p, struct pool_thread *t, const struct pool_event *e,
                        const struct pool_event *const near[2], uint32_t worker,
                        struct pool_owner *best)
{
    unsigned int flags = pool_code_flags(&p->code, e->stack);

    if (e->cause != TRACE_WAIT_LOCK || flags & (POOL_LIBRARY | POOL_IMPORTS))
        return;
    for (int i = 0; i < 2; i++)
        if (near[i] && blame_stack(p->blame, near[i]->stack) == blame_stack(p->blame, e->stack))
            improve(best, t, e->stack, SCORE_THERE + rank_of(p, near[i], worker), 0);
    improve(best, t, e->stack, SCORE_WAITS, 0);
}

static void ask(struct pools *p, struct pool_thread *t, const struct pool_work *w,
                struct pool_owner *best)
{
    size_t at = pool_times_find(t, w->time_ns);
    const struct pool_event *blocked = pool_times_blocked(t, w->time_ns);
    const struct pool_event *near[2] = {nearest(p, t, at - 1, -1, w->time_ns, w->stack),
                                        nearest(p, t, at, 1, w->time_ns, w->stack)};

    if (blocked)
        ask_blocked(p, t, blocked, near, w->stack, best);
    for (int i = 0; i < 2; i++) {
        bool there = near[i] && !blocked && (size_t)(near[i] - t->events) + 1 - (size_t)i == at;

        if (near[i])
            improve(best, t, near[i]->stack,
                    (there ? SCORE_THERE : SCORE_NEAR) + rank_of(p, near[i], w->stack),
                    between(near[i]->to_ns, w->time_ns));
    }
}

/* Native code of the program itself may go on after its line: it stays with the line that started
 * it. */
struct pool_owner pool_owner_of_native(struct pools *p, const struct pool_work *w)
{
    struct pool_thread *worker = &p->each[w->place];
    struct pool_owner best = {.line = NONE}, python;
    int asked = 0;

    for (struct pool_thread *t = pool_owner_first(p, worker->thread->process);
         t && asked < CALLERS_MOST; t = t->next, asked++)
        if (t != worker)
            ask(p, t, w, &best);
    if (!best.stack)
        return blame_stack(p->blame, w->stack) >= SCOPE_KINDS ? creator_of(p, worker->thread)
                                                              : best;
    best.line = blame_stack(p->blame, best.stack);
    if (best.line >= SCOPE_KINDS || best.line == SCOPE_LEFT_OUT)
        return best;
    python = pool_owner_of_python(p, best.thread, w->time_ns);
    return python.line == NONE ? best : python;
}

/* ---- a process ---- */

#define THEN_NS 20000000u
#define NEXT_NS 200000000u

/* What it is to start a process takes some time: what a thread did next says more than what it did
 * before. */
static unsigned int may_have_started(const struct pools *p, const struct pool_event *e,
                                     uint64_t time_ns)
{
    unsigned int flags = pool_code_flags(&p->code, e->stack);
    uint64_t ns = away(e, time_ns);

    if (!(flags & POOL_LINE) || ns > POOL_WINDOW_NS)
        return 0;
    if (flags & POOL_STARTS && ns < THEN_NS)
        return 3;
    return ns < NEXT_NS && e->to_ns >= time_ns ? 2 : 1;
}

#define TOLD_NS CLOCK_SECOND_NS /* who spawns a process tells it after it began */

/* Who started what the process is, by their own word; 0: nobody has said so, or not in a line. */
static uint32_t started_by(const struct pools *p, uint64_t process, uint64_t time_ns)
{
    uint64_t pid, at;

    if (!intmap_get(&p->pids, process, &pid) || !intmap_get(&p->last_start, pid, &at))
        return 0;
    while (at && p->starts[at - 1].time_ns > time_ns + TOLD_NS)
        at = p->starts[at - 1].before;
    if (!at || !(pool_code_flags(&p->code, p->starts[at - 1].stack) & POOL_LINE))
        return 0;
    return p->starts[at - 1].stack;
}

/* A process has begun. Where nobody has said so (a server that forks when it is asked to, a shell),
 * the line that started it is that which started the shell, or where a thread of an ancestor was
 * then.
 */
void pool_owner_of_process(struct pools *p, uint64_t child, uint64_t time_ns)
{
    struct pool_owner best = {.stack = started_by(p, child, time_ns), .line = NONE};
    uint64_t process = child, starter;

    if (best.stack) {
        intmap_put(&p->starters, child, best.stack | POOL_SURE);
        return;
    }
    for (int i = 0; i < PARENTS_MOST && !best.stack; i++) {
        int asked = 0;

        if (!intmap_get(&p->parents, process, &process))
            return;
        if (!pool_owner_first(p, process) && intmap_get(&p->starters, process, &starter) &&
            starter & POOL_SURE) {
            intmap_put(&p->starters, child, starter);
            return;
        }
        for (struct pool_thread *t = pool_owner_first(p, process); t && asked < CALLERS_MOST;
             t = t->next, asked++) {
            size_t at = pool_times_find(t, time_ns);

            for (size_t j = at - (at > t->first); j < t->count && j <= at; j++) {
                unsigned int score = may_have_started(p, &t->events[j], time_ns);

                if (score)
                    improve(&best, t, t->events[j].stack, score, away(&t->events[j], time_ns));
            }
        }
    }
    if (best.stack)
        intmap_put(&p->starters, child, best.stack);
}
