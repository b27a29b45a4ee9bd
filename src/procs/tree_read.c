/* tree_read - see tree.h: one reading of every process of the tree, in which others are found and
 * some are found gone. Nothing is read that cannot have changed: a process that had no page fault
 * since the last tick holds what it held (`changed`).
 */
#include "base/clock.h"
#include "base/count.h"
#include "procs/tree_inner.h"

#include <time.h>

#define LOOK_EVERY 10 /* readings: even what has not moved */

/* The process at `at` is gone and nobody has said how, yet. */
static void live_vanish(struct tree *t, int at)
{
    struct watch_process *p = &t->all[t->live[at].index];
    const int most = COUNT(t->vanished);

    p->died_ns = t->now_ns;
    p->more = true;
    if (t->records && t->vanished_count < most)
        t->vanished[t->vanished_count++] = t->live[at].index;
    else
        t->ended_unknown++;
    if (!t->self)
        bound_open(&t->bound, "a process ended between two samples, its last moments unseen");
    if (!t->records)
        tree_note_used(t, at, NULL);
    if (!t->records && t->events)
        t->events->ended(t->context, p, TRACE_END_UNKNOWN, 0);
    tree_live_drop(t, at);
}

struct visit {
    struct tree *t;
    int parent;
};

static void visit_child(int pid, void *context)
{
    struct visit *v = context;

    if (!tree_has(v->t, pid))
        tree_add(v->t, pid, v->parent, TRACE_BORN_FORKED);
}

static void visit_any(int pid, void *context)
{
    struct proc_reading r = {0};
    struct tree *t = context;
    struct proc p;
    int parent;

    if (tree_has(t, pid) || proc_open(&p, pid, false) < 0 || proc_read_stat(&p, &r) < 0)
        return;
    parent = tree_index_of(t, r.ppid);
    if (parent >= 0 && t->live_of[parent] >= 0)
        tree_add(t, pid, parent, TRACE_BORN_FORKED);
    else if (t->self && r.ppid == t->self && t->all_count)
        tree_add(t, pid, 0, TRACE_BORN_FORKED);
}

static void find_children(struct tree *t, int at)
{
    struct visit v = {t, at < 0 ? 0 : t->live[at].index};
    struct proc copy = at < 0 ? t->self_proc : t->live[at].proc;

    /* Visiting adds processes, which may move the array: work on a copy, then put it back. */
    proc_children(&copy, at < 0 ? 1 : t->live[at].now.threads, visit_child, &v);
    *(at < 0 ? &t->self_proc : &t->live[at].proc) = copy;
}

static bool changed(const struct proc_reading *was, const struct proc_reading *is)
{
    return was->minor_faults != is->minor_faults || was->major_faults != is->major_faults ||
           was->vsz != is->vsz || was->image != is->image || was->user_ticks != is->user_ticks ||
           was->system_ticks != is->system_ticks || was->rss == ABSENT;
}

/* A process whose memory is gone: a zombie, or about to be one. False: taken out of the list. */
static bool note_dead(struct tree *t, int at)
{
    struct tree_live *l = &t->live[at];

    l->zombie = true;
    if (t->records || (t->self && l->now.ppid == t->self))
        return true; /* its final mark is on its way */
    live_vanish(t, at);
    return false;
}

/* The most that was seen since it was found, until the kernel's mark of all its life has moved:
 * then that is from since, too.
 */
static uint64_t mark_since(uint64_t *then, uint64_t mark, uint64_t before, uint64_t now)
{
    if (mark == ABSENT || *then == ABSENT)
        return mark;
    if (mark > *then) {
        *then = ABSENT;
        return mark;
    }
    return before != ABSENT && (now == ABSENT || before > now) ? before : now;
}

static void count_since(struct tree *t, struct tree_live *l, const struct proc_reading *was)
{
    if (!l->older)
        return;
    l->now.rss_peak = mark_since(&l->then.rss_peak, l->now.rss_peak, was->rss_peak, l->now.rss);
    l->now.vsz_peak = mark_since(&l->then.vsz_peak, l->now.vsz_peak, was->vsz_peak, l->now.vsz);
    t->all[l->index].more = l->then.rss_peak != ABSENT;
}

/* Read one process. False: it is gone, and was taken out of the list. */
static bool read_one(struct tree *t, int at)
{
    struct tree_live *l = &t->live[at];
    struct proc_reading was = l->now;

    if (proc_read_stat(&l->proc, &l->now) < 0 ||
        (proc_may_be_another(&l->proc) && l->now.start_ticks != t->all[l->index].start_ticks)) {
        live_vanish(t, at); /* it is gone, or its pid is another's by now */
        return false;
    }
    if (l->now.ignores_children)
        tree_ignores_children(t);
    if (l->now.child_minor_faults > was.child_minor_faults)
        t->reaped_faults += l->now.child_minor_faults - was.child_minor_faults;
    if (l->now.state == 'Z' || l->now.state == 'X')
        return note_dead(t, at);
    tree_note_exec(t, l, &was);
    /* A page only comes with a fault: without one since the last reading no mark has moved. */
    if (t->details || changed(&was, &l->now))
        proc_read_status(&l->proc, &l->now);
    if (l->now.rss_peak == ABSENT) {
        l->now.rss_peak = was.rss_peak;
        return note_dead(t, at);
    }
    if (t->details)
        proc_read_details(&l->proc, &l->now);
    count_since(t, l, &was);
    tree_mark(t, &t->all[l->index], l->now.rss_peak, l->now.vsz_peak);
    return true;
}

/* An orphan becomes ours when the process between dies: then it was seen, or left its faults. */
static bool may_have_orphans(const struct tree *t)
{
    return t->live_count != 1 || t->reaped_faults || t->ended_unknown || t->ended_known ||
           t->live[0].now.ignores_children;
}

/* One process that has not moved needs no closer look: its mark cannot be lost, for the kernel
 * keeps it until the next one. With more of them, when a mark moved matters for their sum.
 */
static bool is_still(struct tree *t)
{
    struct tree_live *l = &t->live[0];

    if (t->live_count != 1 || t->details || l->zombie || l->now.minor_faults == ABSENT ||
        !proc_is_still(&l->proc))
        return false;
    return t->still++ % LOOK_EVERY != LOOK_EVERY - 1;
}

/* Every living process from `at` on, and those that are found on the way. */
static void read_living(struct tree *t, int at)
{
    while (at < t->live_count) {
        if (!is_still(t) && !read_one(t, at))
            continue; /* another one has taken its place */
        if (t->children && !t->scan && !t->live[at].zombie)
            find_children(t, at);
        at++;
    }
}

/* All of them; orphans that came to us, and processes that only a scan finds, are read as well. */
static void read_all(struct tree *t)
{
    read_living(t, 0);
    if (t->children) {
        int known_count = t->live_count;

        if (t->scan)
            proc_all(visit_any, t); /* without lists of children: whose parent is one of ours */
        else if (t->self && may_have_orphans(t))
            find_children(t, -1);
        read_living(t, known_count);
    }
}

void tree_read(struct tree *t, uint64_t mono_ns, uint64_t real_ns)
{
    t->now_ns = mono_ns;
    t->real_ns = real_ns;
    read_all(t);
    t->rss = t->vsz = 0;
    t->alive = 0;
    for (int i = 0; i < t->live_count; i++) {
        const struct proc_reading *r = &t->live[i].now;

        if (t->live[i].zombie)
            continue;
        t->rss += tree_known(r->rss);
        t->vsz += tree_known(r->vsz);
        t->alive++;
    }
    if (t->vsz > t->peak_vsz)
        t->peak_vsz = t->vsz;
}

void tree_marks(struct tree *t, int pid, uint64_t rss, uint64_t vsz)
{
    int index = tree_index_of(t, pid);
    struct proc_reading *r;

    if (index < 0 || t->live_of[index] < 0)
        return;
    tree_mark(t, &t->all[index], rss, vsz);
    r = &t->live[t->live_of[index]].now;
    if (rss != ABSENT && (r->rss_peak == ABSENT || rss > r->rss_peak))
        r->rss_peak = rss;
}

uint64_t tree_read_pss(struct tree *t)
{
    uint64_t from = clock_ns(CLOCK_MONOTONIC);

    t->pss = 0;
    for (int i = 0; i < t->live_count; i++) {
        struct tree_live *l = &t->live[i];

        if (l->zombie)
            continue;
        proc_read_pss(&l->proc, &l->now);
        t->pss += tree_known(l->now.pss);
    }
    if (t->peak_pss == ABSENT || t->pss > t->peak_pss)
        t->peak_pss = t->pss;
    return clock_ns(CLOCK_MONOTONIC) - from;
}
