/* tree_account - what the processes of a tree held at most between two readings, and at their ends.
 */
#include "base/clock.h"
#include "procs/tree_inner.h"

#include <stdio.h>
#include <unistd.h>

#define HUGE_PAGE (2u << 20)
#define FAULTS_LEAST 4 /* to be forked, run and exit with memory of its own: 6 were measured */
#define FAULTS_UNKNOWN (1u << 20)

/* How many processes may have come and gone unseen, at most: of those that the machine has made
 * since this was last asked, the ones not seen in the tree. Each left its faults with the process
 * that waited for it; without such faults nobody has to ask. One that was made just before the last
 * asking, and ended after it, may be among those that were unexplained then.
 */
static uint64_t unseen(struct tree *t)
{
    uint64_t most = t->reaped_faults / FAULTS_LEAST, newest, made, unexplained, hidden;

    if (!t->children || t->records || !most)
        return 0;
    newest = proc_newest();
    made = newest && t->newest && newest >= t->newest ? newest - t->newest : most;
    unexplained = made > t->newborn ? made - t->newborn : 0;
    hidden = unexplained + t->unexplained;
    t->unexplained = unexplained;
    t->newest = newest;
    t->newborn = 0;
    if (hidden > most)
        hidden = most;
    if (hidden > t->hidden)
        t->hidden = hidden;
    return hidden;
}

/* How far the mark of a process that is told at its end may lie behind: the kernel adds its pages
 * up per CPU, in batches, and tells the rough sum.
 */
static uint64_t counter_lag(void)
{
    static uint64_t lag;
    uint64_t cpus, batch;

    if (lag)
        return lag;
    cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    batch = cpus > 16 ? 2 * cpus : 32;
    lag = batch * (cpus < 16 ? cpus : 16) * (uint64_t)sysconf(_SC_PAGESIZE);
    return lag;
}

static void settle_interval(struct tree *t, uint64_t marks, uint64_t unknown)
{
    bound_interval(&t->bound, marks + (unknown ? unknown * counter_lag() : 0), unknown);
}

/* The mark of all its life, where what is from before it was found is not told apart by it. */
static uint64_t most_mark(const struct tree_live *l)
{
    uint64_t now = tree_known(l->now.rss_peak), then = l->older ? tree_known(l->then.rss_peak) : 0;

    return then > now ? then : now;
}

void tree_settle(struct tree *t)
{
    uint64_t hidden = unseen(t), unknown, marks = t->ended_known;

    for (int i = 0; i < t->live_count; i++) {
        uint64_t peak = tree_known(t->live[i].now.rss_peak), most = most_mark(&t->live[i]);

        bound_single(&t->bound, peak);
        bound_largest(&t->bound, most);
        if (t->live[i].zombie && !t->records)
            t->ended_unknown++; /* it ended in this interval, whenever its end is told */
        else
            marks += most;
    }
    for (int i = 0; i < t->vanished_count; i++)
        t->ended_unknown += !(t->sources[t->vanished[i]] & SOURCE_RECORD);
    unknown = t->ended_unknown + hidden;
    bound_sum(&t->bound, t->rss);
    settle_interval(t, marks, unknown);
    if (hidden) /* they may have ended while the last reading was under way: then they lived before
                   it */
        settle_interval(t, t->last_marks, t->last_unknown + hidden);
    t->last_marks = marks;
    t->last_unknown = unknown;
    t->ended_known = t->ended_unknown = t->reaped_faults = 0;
    t->vanished_count = 0;
}

void tree_ignores_children(struct tree *t)
{
    if (t->children && !t->records)
        bound_open(&t->bound, "a process ignores SIGCHLD, so its children end without a trace");
}

/* ---- what it used ---- */

/* Since it was found, as far as it was read. */
static struct proc_usage read_usage(const struct tree_live *l)
{
    uint64_t tick_ns = CLOCK_SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK);
    const struct proc_reading none = {0}, *then = l->older ? &l->then : &none;

    return (struct proc_usage){
        .user_ns = (l->now.user_ticks - then->user_ticks) * tick_ns,
        .system_ns = (l->now.system_ticks - then->system_ticks) * tick_ns,
        .minor_faults = l->now.minor_faults == ABSENT ? 0
                                                      : l->now.minor_faults - then->minor_faults,
        .major_faults = l->now.major_faults - then->major_faults,
    };
}

void tree_note_used(struct tree *t, int at, const struct proc_usage *used)
{
    struct proc_usage u = {0};

    if (at >= 0)
        u = read_usage(&t->live[at]);
    if (used && used->user_ns != ABSENT && !(at >= 0 && t->live[at].older))
        u = *used;
    t->told.user_ns += u.user_ns;
    t->told.system_ns += u.system_ns;
    t->told.minor_faults += tree_known(u.minor_faults);
    t->told.major_faults += tree_known(u.major_faults);
}

struct proc_usage tree_used(const struct tree *t)
{
    struct proc_usage all = t->told;

    for (int i = 0; i < t->live_count; i++) {
        struct proc_usage one = read_usage(&t->live[i]);

        all.user_ns += one.user_ns;
        all.system_ns += one.system_ns;
        all.minor_faults += one.minor_faults;
        all.major_faults += one.major_faults;
    }
    return all;
}

/* ---- what it held ---- */

/* The most that a process can have held at its end, given what was read of it alive. A fault brings
 * in 64 KiB of a file at most, or one huge page.
 */
static uint64_t most_at_end(const struct tree *t, int at, const struct proc_end *end, uint64_t own)
{
    const struct proc_reading *r = at >= 0 ? &t->live[at].now : NULL;
    uint64_t most = end->maxrss, grown;

    if (own != ABSENT)
        return own;
    if (!r || r->minor_faults == ABSENT || end->minor_faults == ABSENT || r->rss_peak == ABSENT)
        return most;
    grown = most_mark(&t->live[at]) + (end->minor_faults - r->minor_faults) * HUGE_PAGE;
    return grown < most ? grown : most;
}

/* The entry of the process that ended: a new one when it was never seen, or its pid was reused. */
static int entry_of_end(struct tree *t, const struct proc_end *end, unsigned char source)
{
    int index = tree_index_of(t, end->pid), parent = tree_index_of(t, end->ppid);
    struct watch_process *p;

    if (index >= 0 && !(t->sources[index] & source))
        return index;
    index = tree_all_add(t, end->pid, parent < 0 && t->all_count ? 0 : parent);
    p = &t->all[index];
    if (end->lived_ns != ABSENT && end->lived_ns < p->born_ns)
        p->born_ns -= end->lived_ns;
    if (end->name)
        snprintf(p->name, sizeof(p->name), "%s", end->name);
    if (t->events)
        t->events->born(t->context, t, p, TRACE_BORN_FORKED);
    return index;
}

/* Faults of children that the process has waited for since it was last read. */
static uint64_t faults_reaped(const struct tree *t, int at, const struct proc_end *end)
{
    const struct proc_reading *r = at >= 0 ? &t->live[at].now : NULL;

    if (end->child_faults == ABSENT)
        return end->waited && !t->records ? FAULTS_UNKNOWN : 0;
    return end->child_faults - (r ? r->child_minor_faults : 0);
}

/* Its own final mark, where it can be told from those of the children that it waited for. */
static uint64_t own_mark(struct tree *t, const struct watch_process *p, const struct proc_end *end)
{
    if (end->rss != ABSENT)
        return end->rss;
    if (end->child_faults == 0 && end->maxrss != ABSENT) { /* it never waited for one */
        t->floored = end->maxrss <= t->floor && p->peak_rss == ABSENT;
        t->shadowed = end->maxrss <= t->floor && p->peak_rss != ABSENT;
        if (!t->shadowed)
            return end->maxrss;
    }
    return t->records && end->waited ? p->peak_rss
                                     : ABSENT; /* with records, read at its very end */
}

/* What it held counts in this interval, once; what is told at the end may lag behind. */
static void charge_end(struct tree *t, const struct watch_process *p, const struct proc_end *end,
                       uint64_t most)
{
    bool told = most > tree_known(p->peak_rss) || !end->waited;

    if (most == ABSENT)
        t->ended_unknown++;
    else
        t->ended_known += (most > tree_known(p->peak_rss) ? most : tree_known(p->peak_rss)) +
                          (told && t->all_count > 1 ? counter_lag() : 0);
}

void tree_ended(struct tree *t, const struct proc_end *end)
{
    unsigned char source = end->waited ? SOURCE_WAIT : SOURCE_RECORD;
    uint64_t own, most;
    struct watch_process *p;
    int index, at;
    bool first;

    if (!t->children && tree_index_of(t, end->pid) < 0)
        return;
    index = entry_of_end(t, end, source);
    at = t->live_of[index];
    p = &t->all[index];
    first = !(t->sources[index] & (SOURCE_WAIT | SOURCE_RECORD));
    t->sources[index] |= source;
    if (end->ignored_children)
        tree_ignores_children(t);
    t->reaped_faults += faults_reaped(t, at, end);
    own = own_mark(t, p, end);
    most = most_at_end(t, at, end, own);
    if (first) {
        charge_end(t, p, end, most);
        tree_note_used(t, at, &end->used);
    }
    tree_mark(t, p, own, end->vsz);
    p->more = (first || p->more) && own == ABSENT && most > tree_known(p->peak_rss);
    if (own != ABSENT)
        bound_single(&t->bound, own);
    if (end->maxrss != ABSENT && end->maxrss > t->floor && t->children)
        bound_single(&t->bound, end->maxrss);
    else if (end->maxrss != ABSENT)
        bound_largest(&t->bound, end->maxrss);
    if (p->died_ns == ABSENT)
        p->died_ns = t->now_ns;
    if (at >= 0)
        tree_live_drop(t, at);
    if (t->events && t->events->used)
        t->events->used(t->context, p, &end->used);
    if (t->events && (end->waited || first))
        t->events->ended(t->context, p, end->signaled ? TRACE_END_SIGNALED : TRACE_END_EXITED,
                         end->status);
}
