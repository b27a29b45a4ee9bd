/* blocked - see blocked.h. */
#include "collect/blocked.h"

#include "base/clock.h"
#include "base/descriptor.h"

#include "base/memory.h"
#include "collect/pystack.h"
#include "collect/wait_cause.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TELL_NS CLOCK_SECOND_NS /* a wait that goes on is told as often, */
#define OVER_NS 600000000u      /* one that does not, after this */
#define DUE_NS CLOCK_SECOND_NS
#define AGAIN_MOST 3 /* looks for Python where none was found and nothing has moved since */

struct place {
    struct pystack at;
    enum trace_cause cause; /* 0: it runs, or nobody knows */
};

struct told { /* a place, and the time there that the trace does not know yet */
    struct place place;
    uint64_t ns, since_ns;
    uint64_t last_ns; /* when it was still there: the time of what is told */
};

struct blocked_thread {
    uint32_t thread;        /* of the trace: whom this is about */
    int schedstat, syscall; /* kept open; below 0: opened for each look */
    uint64_t tstate;        /* of its Python; 0: none, as far as we know */
    uint64_t ran, queued, looked_ns;
    struct place at; /* as of the last look */
    unsigned int again;
    uint64_t unplaced_ns;
    uint64_t owed_ns; /* told as blocked, but it was queued */
    struct told blocked, queue;
};

struct account {
    uint64_t ran, queued; /* ns */
};

static int open_of(const struct absorb_ring *r, const char *what)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%u/task/%u/%s", r->process->pid, r->tid, what);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Files stay open for as long as the thread is looked at, and longer: that is cheaper for us, and
 * for who waits for the process (descriptor_close_late).
 */
static bool read_of(const struct absorb_ring *r, int kept, const char *what, char *text,
                    size_t room)
{
    int fd = kept >= 0 ? kept : open_of(r, what);
    ssize_t bytes = fd < 0 ? -1 : pread(fd, text, room - 1, 0);

    if (kept < 0 && fd >= 0)
        close(fd);
    text[bytes > 0 ? bytes : 0] = '\0';
    return bytes > 0;
}

static bool read_account(const struct absorb_ring *r, struct account *a)
{
    char text[96], *end;

    if (!read_of(r, r->wait->schedstat, "schedstat", text, sizeof(text)))
        return false;
    a->ran = strtoull(text, &end, 10);
    a->queued = strtoull(end, NULL, 10);
    return true;
}

/* What is told of one place. */

static void put_wait(struct absorb *a, const struct absorb_ring *r, const struct told *t,
                     uint64_t stack, uint64_t ns)
{
    struct trace_wait fields = {r->thread, stack, ns, t->place.cause};

    if (ns)
        trace_store_put(a->store, TRACE_WAIT, t->last_ns, (const uint64_t *)&fields, 4, NULL, 0);
}

/* The time of an event loop is that of its tasks, in equal parts: together it is no longer. */
static void put_waits(struct absorb *a, const struct absorb_ring *r, const struct told *t)
{
    const struct pystack *at = &t->place.at;
    uint64_t left = t->ns, tasks = 0;

    for (unsigned int i = 0; i < at->awaits; i++)
        tasks += at->await[i].tasks;
    for (unsigned int i = 0; i < at->awaits; i++) {
        uint64_t ns = left / tasks * at->await[i].tasks + left % tasks * at->await[i].tasks / tasks;

        put_wait(a, r, t, at->await[i].stack, ns);
        left -= ns;
        tasks -= at->await[i].tasks;
    }
    if (!at->awaits)
        put_wait(a, r, t, at->stack, t->ns);
}

static void tell(struct absorb *a, const struct absorb_ring *r, struct told *t, uint64_t now)
{
    if (t->ns && a->store) {
        stackmap_flush(&a->stackmap, a->store);
        put_waits(a, r, t);
    }
    t->ns = 0;
    t->since_ns = now;
}

static bool same(const struct place *a, const struct place *b)
{
    return a->cause == b->cause && a->at.stack == b->at.stack && a->at.awaits == b->at.awaits &&
           memcmp(a->at.await, b->at.await, a->at.awaits * sizeof(a->at.await[0])) == 0;
}

static void add(struct absorb *a, const struct absorb_ring *r, struct told *t, struct place p,
                uint64_t ns, uint64_t now)
{
    if (!ns)
        return;
    if (!same(&t->place, &p) || now - t->since_ns > TELL_NS)
        tell(a, r, t, now);
    t->place = p;
    t->ns += ns;
    t->last_ns = now;
}

/* Who runs for long tells of what it waited for before, while others may still be compared with it.
 */
static void tell_old(struct absorb *a, const struct absorb_ring *r, struct told *t, uint64_t now)
{
    if (t->ns && now - t->last_ns > OVER_NS)
        tell(a, r, t, now);
}

/* Where it is now. */

static bool in_gil(const struct absorb_process *p, uint64_t address)
{
    return p->python.runtime && address - p->python.runtime < p->python.runtime_bytes;
}

static struct place look_up(struct absorb *a, struct absorb_ring *r, struct blocked_thread *w)
{
    struct place none = {0}, at = none;
    unsigned long long argument = 0, sp = 0, pc = 0;
    struct native_place where;
    char text[256];
    long number = -1;

    if (!read_of(r, w->syscall, "syscall", text, sizeof(text)) || !strncmp(text, "running", 7))
        return none;
    if (sscanf(text, "%ld 0x%llx %*s %*s %*s %*s %*s 0x%llx 0x%llx", &number, &argument, &sp,
               &pc) != 4 &&
        sscanf(text, "%ld 0x%llx 0x%llx", &number, &sp, &pc) != 3)
        return none;
    at.cause = wait_cause(number);
    if (number == SYS_futex && in_gil(r->process, argument))
        at.cause = TRACE_WAIT_GIL;
    w->tstate = pystack_tstate(r->process, r->tid, w->tstate);
    where = (struct native_place){pc, sp, number == -1};
    pystack_of(a, r->process, &where, w->tstate, &at.at);
    return at;
}

/* It was blocked for `ns` since the last look, when it was at w->at, and is now at `at`. */
static void divide(struct absorb *a, const struct absorb_ring *r, struct blocked_thread *w,
                   struct place at, uint64_t ns, uint64_t now)
{
    if (w->at.cause && at.cause && !same(&w->at, &at)) {
        add(a, r, &w->blocked, w->at, ns / 2, now);
        add(a, r, &w->blocked, at, ns - ns / 2, now);
    } else if (w->at.cause) {
        add(a, r, &w->blocked, w->at, ns, now);
    } else if (at.cause) {
        add(a, r, &w->blocked, at, ns + w->unplaced_ns, now);
        w->unplaced_ns = 0;
    } else {
        w->unplaced_ns += ns;
    }
}

static uint64_t at_most(uint64_t ns, uint64_t limit)
{
    return ns < limit ? ns : limit;
}

/* The scheduler accounts for a stay in its queue when it ends, and for running at every tick: what
 * is accounted now beyond the time since the last look was taken for blocked before. */
static void take_back(struct blocked_thread *w, uint64_t ns)
{
    uint64_t unplaced = at_most(ns, w->unplaced_ns);
    uint64_t blocked = at_most(ns - unplaced, w->blocked.ns);

    w->unplaced_ns -= unplaced;
    w->blocked.ns -= blocked;
    w->owed_ns += ns - unplaced - blocked;
}

/* How long it was blocked of `span`, when it used that much of it otherwise. */
static uint64_t blocked_for(struct blocked_thread *w, uint64_t span, uint64_t used)
{
    uint64_t paid;

    if (used > span) {
        take_back(w, used - span);
        return 0;
    }
    paid = at_most(span - used, w->owed_ns);
    w->owed_ns -= paid;
    return span - used - paid;
}

/* A thread that is older than its recording is looked at from now on, another one from its birth.
 */
static void begin(struct absorb_ring *r, uint64_t now)
{
    struct blocked_thread *w = memory_zeroed(sizeof(*w));
    struct account account = {0};

    r->wait = w;
    w->thread = r->thread;
    w->looked_ns = r->born_ns;
    w->schedstat = descriptor_keep(open_of(r, "schedstat"));
    w->syscall = descriptor_keep(open_of(r, "syscall"));
    if (!read_account(r, &account) || account.ran + account.queued <= now - r->born_ns)
        return;
    w->looked_ns = now;
    w->ran = account.ran;
    w->queued = account.queued;
}

/* Who is blocked stays where it was found; that no Python was found may be for want of knowing its
 * interpreter. */
static bool is_to_be_found(const struct absorb_ring *r, struct blocked_thread *w, uint64_t ran)
{
    if (ran != w->ran || !w->at.cause) {
        w->again = 0;
        return true;
    }
    return r->process->python.read && !w->at.at.python && w->again++ < AGAIN_MOST;
}

bool blocked_is_due(const struct absorb_ring *r, uint64_t now)
{
    return !r->wait || now - r->wait->looked_ns > DUE_NS;
}

void blocked_look(struct absorb *a, struct absorb_ring *r, uint64_t now)
{
    struct blocked_thread *w = r->wait;
    struct account before, after;
    struct place at, queue = {{.stack = r->cpu_stack}, TRACE_WAIT_QUEUE};
    uint64_t used;

    if (!r->thread || now <= r->born_ns)
        return;
    if (w && w->thread != r->thread)
        blocked_end(a, r, now);
    if (!r->wait)
        begin(r, now);
    w = r->wait;
    if (!read_account(r, &before))
        return;
    at = w->at;
    if (is_to_be_found(r, w, before.ran)) {
        at = look_up(a, r, w);
        if (!read_account(r, &after) || after.ran != before.ran)
            at = (struct place){0}; /* it ran meanwhile: what was read may be torn */
    }
    used = before.ran - w->ran + before.queued - w->queued;
    divide(a, r, w, at, blocked_for(w, now - w->looked_ns, used), now);
    add(a, r, &w->queue, queue, before.queued - w->queued, now);
    tell_old(a, r, &w->blocked, now);
    tell_old(a, r, &w->queue, now);
    w->ran = before.ran;
    w->queued = before.queued;
    w->looked_ns = now;
    w->at = at;
}

void blocked_end(struct absorb *a, struct absorb_ring *r, uint64_t now)
{
    struct blocked_thread *w = r->wait;
    struct absorb_ring whose = *r;

    if (!w)
        return;
    whose.thread = w->thread;
    add(a, &whose, &w->blocked, (struct place){.cause = TRACE_WAIT_OTHER}, w->unplaced_ns, now);
    tell(a, &whose, &w->blocked, now);
    tell(a, &whose, &w->queue, now);
    if (w->schedstat >= 0)
        descriptor_close_late(w->schedstat);
    if (w->syscall >= 0)
        descriptor_close_late(w->syscall);
    free(w);
    r->wait = NULL;
}
