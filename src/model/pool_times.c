/* pool_times - see pool_times.h. */
#include "model/pool_times.h"

#include "base/memory.h"
#include "base/search.h"

#include <string.h>

/* Waits are told when they end, up to a second late, and are looked up a window later. */
#define KEPT_NS (3 * (uint64_t)POOL_WINDOW_NS)
#define RAN_NS 8000000u /* about two samples of CPU time */
#define STEPS_MOST 512
#define LATE_MOST 1024 /* events that one may come too late by */

static void forget(struct pool_thread *t, uint64_t before_ns)
{
    while (t->first < t->count && t->events[t->first].to_ns < before_ns)
        t->first++;
    if (t->first < 64 || t->first * 2 < t->count)
        return;
    t->count -= t->first;
    memmove(t->events, t->events + t->first, t->count * sizeof(*t->events));
    t->first = 0;
}

void pool_times_add(struct pool_thread *t, struct pool_event e)
{
    size_t at, late = 0;

    if (e.to_ns > KEPT_NS)
        forget(t, e.to_ns - KEPT_NS);
    memory_fit(t->events, t->room, t->count + 1);
    for (at = t->count++; at > t->first && t->events[at - 1].to_ns > e.to_ns && late < LATE_MOST;
         at--, late++)
        t->events[at] = t->events[at - 1];
    t->events[at] = e;
}

size_t pool_times_find(const struct pool_thread *t, uint64_t time_ns)
{
    size_t low = t->first;

    SEARCH(low, t->count, i, t->events[i].to_ns < time_ns);
    return low;
}

static bool ran_at(const struct pool_thread *t, size_t at, uint64_t time_ns)
{
    for (size_t i = at - (at > t->first); i < t->count && i <= at; i++) {
        uint64_t to = t->events[i].to_ns;

        if (!t->events[i].cause && (to < time_ns ? time_ns - to : to - time_ns) < RAN_NS)
            return true;
    }
    return false;
}

/* A wait is told some time after it ended, when the thread may have run already. */
const struct pool_event *pool_times_blocked(const struct pool_thread *t, uint64_t time_ns)
{
    size_t at = pool_times_find(t, time_ns);

    if (ran_at(t, at, time_ns))
        return NULL;
    for (size_t i = at; i < t->count && i - at < STEPS_MOST; i++) {
        const struct pool_event *e = &t->events[i];

        if (e->cause && e->from_ns <= time_ns)
            return e->cause == TRACE_WAIT_GIL ? NULL : e;
        if (e->from_ns > time_ns + POOL_WINDOW_NS)
            break;
    }
    return NULL;
}

bool pool_times_over(const struct pool_thread *t, uint64_t time_ns)
{
    return t->first == t->count || t->events[t->count - 1].to_ns + KEPT_NS < time_ns;
}
