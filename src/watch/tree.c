#include "watch/tree.h"

#include "base/memory.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define SPARE_DESCRIPTORS 64
#define KEPT_PER_PROCESS 4
#define HUGE_PAGE (2u << 20)
#define FAULTS_LEAST 4 /* to be forked, run and exit with memory of its own: 6 were measured */
#define FAULTS_UNKNOWN (1u << 20)
#define LOOK_EVERY 10        /* readings: even what has not moved */
#define REUSE_NS 1000000000u /* a pid does not come back sooner */
#define SOURCE_WAIT 1
#define SOURCE_RECORD 2

void tree_init(struct tree *t)
{
    struct rlimit limit = {0};

    getrlimit(RLIMIT_NOFILE, &limit);
    t->kept_most = limit.rlim_max > 1u << 20 ? 1 << 20 : (int)limit.rlim_max;
    t->kept_most -= SPARE_DESCRIPTORS;
    t->newest = proc_newest();
    t->peak_pss = t->pss = ABSENT;
    t->scan = !proc_has_children_lists();
    if (t->self)
        proc_open(&t->self_proc, t->self, false);
}

static int all_add(struct tree *t, int pid, int parent)
{
    int index = (int)t->all_count;

    if (t->all_count == t->all_room) {
        t->all_room = t->all_room ? t->all_room * 2 : 16;
        t->all = memory_resize(t->all, t->all_room * sizeof(*t->all));
        t->live_of = memory_resize(t->live_of, t->all_room * sizeof(*t->live_of));
        t->sources = memory_resize(t->sources, t->all_room);
    }
    t->all[t->all_count++] = (struct watch_process){
        .pid = pid,
        .parent = parent,
        .peak_rss = ABSENT,
        .peak_vsz = ABSENT,
        .image_rss = ABSENT,
        .born_ns = t->now_ns,
        .died_ns = ABSENT,
    };
    t->live_of[index] = -1;
    t->sources[index] = 0;
    intmap_put(&t->by_pid, (uint64_t)pid, (uint64_t)index);
    return index;
}

static int index_of(const struct tree *t, int pid)
{
    uint64_t index;

    return intmap_get(&t->by_pid, (uint64_t)pid, &index) ? (int)index : -1;
}

bool tree_has(const struct tree *t, int pid)
{
    int index = index_of(t, pid);

    return index >= 0 && t->live_of[index] >= 0;
}

static struct tree_live *live_add(struct tree *t)
{
    if (t->live_count == t->live_room) {
        t->live_room = t->live_room ? t->live_room * 2 : 4;
        t->live = memory_resize(t->live, (size_t)t->live_room * sizeof(*t->live));
    }
    memset(&t->live[t->live_count], 0, sizeof(*t->live));
    return &t->live[t->live_count++];
}

int tree_add(struct tree *t, int pid, int parent, enum trace_born how)
{
    struct proc_reading first = {0};
    bool keep = t->kept + KEPT_PER_PROCESS <= t->kept_most;
    struct tree_live *l;
    struct proc proc;
    int index = index_of(t, pid);

    if (!t->children && how == TRACE_BORN_FORKED)
        return -1;
    if (index >= 0 && t->live_of[index] < 0 && t->all[index].died_ns + REUSE_NS > t->now_ns)
        return -1; /* it has ended, and was not taken away yet */
    if (proc_open(&proc, pid, keep) < 0)
        return -1;
    if (proc_read_stat(&proc, &first) < 0) {
        proc_close(&proc);
        return -1;
    }
    if (index >= 0 && t->live_of[index] < 0 && t->all[index].start_ticks == first.start_ticks) {
        proc_close(&proc); /* the same, and nobody has waited for it yet */
        return -1;
    }
    if (parent < 0 && (parent = index_of(t, first.ppid)) < 0 && t->all_count)
        parent = 0;
    index = all_add(t, pid, parent);
    l = live_add(t);
    l->index = index;
    l->proc = proc;
    l->now = first;
    t->live_of[index] = t->live_count - 1;
    t->kept += keep ? KEPT_PER_PROCESS : 0;
    t->all[index].start_ticks = first.start_ticks;
    memcpy(t->all[index].name, first.name, sizeof(first.name));
    t->newborn += (uint64_t)pid >
                  t->newest;      /* surely made since `newest`; after a wrap, not counted */
    l->now.minor_faults = ABSENT; /* so that the first reading is a change */
    if (how != TRACE_BORN_FOUND)
        l->now.child_minor_faults = 0; /* what it waited for before it was found counts, too */
    if (t->events)
        t->events->born(t->context, t, &t->all[index], how);
    return index;
}

static void live_drop(struct tree *t, int at)
{
    struct tree_live *l = &t->live[at];

    if (l->proc.stat >= 0)
        t->kept -= KEPT_PER_PROCESS;
    proc_close(&l->proc);
    t->live_of[l->index] = -1;
    *l = t->live[--t->live_count];
    if (at < t->live_count)
        t->live_of[l->index] = at;
}

static void mark(const struct tree *t, struct watch_process *p, uint64_t rss, uint64_t vsz)
{
    if (rss != ABSENT && (p->peak_rss == ABSENT || rss > p->peak_rss)) {
        p->peak_rss = rss;
        p->peak_real_ns = t->real_ns;
    }
    if (rss != ABSENT && (p->image_rss == ABSENT || rss > p->image_rss))
        p->image_rss = rss;
    if (vsz != ABSENT && (p->peak_vsz == ABSENT || vsz > p->peak_vsz))
        p->peak_vsz = vsz;
}

/* The process at `at` is gone and nobody has said how, yet. */
static void live_vanish(struct tree *t, int at)
{
    struct watch_process *p = &t->all[t->live[at].index];
    const int most = (int)(sizeof(t->vanished) / sizeof(t->vanished[0]));

    p->died_ns = t->now_ns;
    p->more = true;
    if (t->records && t->vanished_count < most)
        t->vanished[t->vanished_count++] = t->live[at].index;
    else
        t->ended_unknown++;
    if (!t->self)
        bound_open(&t->bound, "a process ended between two samples, its last moments unseen");
    if (!t->records && t->events)
        t->events->ended(t->context, p, TRACE_END_UNKNOWN, 0);
    live_drop(t, at);
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

/* Without lists of children: every process of the machine whose parent is one of ours. */
static void scan_children(struct tree *t)
{
    DIR *dir = opendir("/proc");
    struct dirent *e;

    while (dir && (e = readdir(dir)) != NULL) {
        int pid = atoi(e->d_name), parent;
        struct proc_reading r = {0};
        struct proc p;

        if (pid <= 0 || tree_has(t, pid) || proc_open(&p, pid, false) < 0 ||
            proc_read_stat(&p, &r) < 0)
            continue;
        parent = index_of(t, r.ppid);
        if (parent >= 0 && t->live_of[parent] >= 0)
            tree_add(t, pid, parent, TRACE_BORN_FORKED);
        else if (t->self && r.ppid == t->self && t->all_count)
            tree_add(t, pid, 0, TRACE_BORN_FORKED);
    }
    if (dir)
        closedir(dir);
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

/* Between fork and exec a process is a copy of its parent, which shares all its memory with it. */
static bool is_copy(const struct tree *t, const struct tree_live *l, uint64_t image)
{
    int parent = t->all[l->index].parent, at = parent < 0 ? -1 : t->live_of[parent];

    return at >= 0 && t->live[at].now.image == image;
}

/* The image differs from the last reading: exec. What it held before, after that reading, is lost. */
static void note_exec(struct tree *t, struct tree_live *l, const struct proc_reading *was)
{
    struct watch_process *p = &t->all[l->index];

    memcpy(p->name, l->now.name, sizeof(p->name));
    if (was->minor_faults == ABSENT || !was->image || was->image == l->now.image)
        return;
    t->ended_unknown += !is_copy(t, l, was->image);
    if (t->events) {
        t->events->ended(t->context, p, TRACE_END_EXECED, 0);
        t->events->born(t->context, t, p, TRACE_BORN_EXECED);
    }
    p->image_rss = ABSENT;
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

/* Read one process. False: it is gone, and was taken out of the list. */
static bool read_one(struct tree *t, int at)
{
    struct tree_live *l = &t->live[at];
    struct proc_reading was = l->now;

    if (proc_read_stat(&l->proc, &l->now) < 0) {
        live_vanish(t, at);
        return false;
    }
    if (l->now.child_minor_faults > was.child_minor_faults)
        t->reaped_faults += l->now.child_minor_faults - was.child_minor_faults;
    if (l->now.state == 'Z' || l->now.state == 'X')
        return note_dead(t, at);
    note_exec(t, l, &was);
    /* A page only comes with a fault: without one since the last reading no mark has moved. */
    if (t->details || changed(&was, &l->now))
        proc_read_status(&l->proc, &l->now);
    if (l->now.rss_peak == ABSENT) {
        l->now.rss_peak = was.rss_peak;
        return note_dead(t, at);
    }
    if (t->details)
        proc_read_details(&l->proc, &l->now);
    mark(t, &t->all[l->index], l->now.rss_peak, l->now.vsz_peak);
    if (l->now.ignores_children && t->children && !t->records)
        bound_open(&t->bound, "a process ignores SIGCHLD, so its children end without a trace");
    return true;
}

static uint64_t known(uint64_t n)
{
    return n == ABSENT ? 0 : n;
}

/* An orphan becomes ours when the process between dies: then it was seen, or left its faults. */
static bool may_have_orphans(const struct tree *t)
{
    return t->live_count != 1 || t->reaped_faults || t->ended_unknown || t->ended_known ||
           t->live[0].now.ignores_children;
}

/* One process that has not moved needs no closer look: its mark cannot be lost, for the kernel keeps
 * it until the next one. With more of them, when a mark moved matters for their sum.
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
            scan_children(t);
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
        t->rss += known(r->rss);
        t->vsz += known(r->vsz);
        t->alive++;
    }
    if (t->vsz > t->peak_vsz)
        t->peak_vsz = t->vsz;
}

/* How many processes may have come and gone unseen, at most: of those that the machine has made since
 * this was last asked, the ones not seen in the tree. Each left its faults with the process that
 * waited for it; without such faults nobody has to ask. One that was made just before the last
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

/* How far the mark of a process that is told at its end may lie behind: the kernel adds its pages up
 * per CPU, in batches, and tells the rough sum.
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

void tree_settle(struct tree *t)
{
    uint64_t hidden = unseen(t), unknown, marks = t->ended_known;

    for (int i = 0; i < t->live_count; i++) {
        uint64_t peak = known(t->live[i].now.rss_peak);

        bound_single(&t->bound, peak);
        if (t->live[i].zombie && !t->records)
            t->ended_unknown++; /* it ended in this interval, whenever its end is told */
        else
            marks += peak;
    }
    for (int i = 0; i < t->vanished_count; i++)
        t->ended_unknown += !(t->sources[t->vanished[i]] & SOURCE_RECORD);
    unknown = t->ended_unknown + hidden;
    bound_sum(&t->bound, t->rss);
    settle_interval(t, marks, unknown);
    if (hidden) /* they may have ended while the last reading was under way: then they lived before it */
        settle_interval(t, t->last_marks, t->last_unknown + hidden);
    t->last_marks = marks;
    t->last_unknown = unknown;
    t->ended_known = t->ended_unknown = t->reaped_faults = 0;
    t->vanished_count = 0;
}

/* The most that a process can have held at its end, given what was read of it alive. A fault brings
 * in 64 KiB of a file at most, or one huge page.
 */
static uint64_t most_at_end(const struct tree *t, int at, const struct tree_end *end, uint64_t own)
{
    const struct proc_reading *r = at >= 0 ? &t->live[at].now : NULL;
    uint64_t most = end->maxrss, grown;

    if (own != ABSENT)
        return own;
    if (!r || r->minor_faults == ABSENT || end->minor_faults == ABSENT || r->rss_peak == ABSENT)
        return most;
    grown = r->rss_peak + (end->minor_faults - r->minor_faults) * HUGE_PAGE;
    return grown < most ? grown : most;
}

/* The entry of the process that ended: a new one when it was never seen, or its pid was reused. */
static int entry_of_end(struct tree *t, const struct tree_end *end, unsigned char source)
{
    int index = index_of(t, end->pid), parent = index_of(t, end->ppid);
    struct watch_process *p;

    if (index >= 0 && !(t->sources[index] & source))
        return index;
    index = all_add(t, end->pid, parent < 0 && t->all_count ? 0 : parent);
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
static uint64_t faults_reaped(const struct tree *t, int at, const struct tree_end *end)
{
    const struct proc_reading *r = at >= 0 ? &t->live[at].now : NULL;

    if (end->child_faults == ABSENT)
        return end->waited && !t->records ? FAULTS_UNKNOWN : 0;
    return end->child_faults - (r ? r->child_minor_faults : 0);
}

/* Its own final mark, where it can be told from those of the children that it waited for. */
static uint64_t own_mark(struct tree *t, const struct watch_process *p, const struct tree_end *end)
{
    if (end->rss != ABSENT)
        return end->rss;
    if (end->child_faults == 0 && end->maxrss != ABSENT &&
        (end->maxrss > t->floor || p->peak_rss == ABSENT)) {
        t->floored = end->maxrss <= t->floor;
        return end->maxrss; /* it never waited for one */
    }
    return t->records && end->waited ? p->peak_rss
                                     : ABSENT; /* with records, read at its very end */
}

/* What it held counts in this interval, once; what is told at the end may lag behind. */
static void charge_end(struct tree *t, const struct watch_process *p, const struct tree_end *end,
                       uint64_t most)
{
    bool told = most > known(p->peak_rss) || !end->waited;

    if (most == ABSENT)
        t->ended_unknown++;
    else
        t->ended_known += (most > known(p->peak_rss) ? most : known(p->peak_rss)) +
                          (told && t->all_count > 1 ? counter_lag() : 0);
}

void tree_ended(struct tree *t, const struct tree_end *end)
{
    unsigned char source = end->waited ? SOURCE_WAIT : SOURCE_RECORD;
    uint64_t own, most;
    struct watch_process *p;
    int index, at;
    bool first;

    if (!t->children && index_of(t, end->pid) < 0)
        return;
    index = entry_of_end(t, end, source);
    at = t->live_of[index];
    p = &t->all[index];
    first = !t->sources[index];
    t->sources[index] |= source;
    t->reaped_faults += faults_reaped(t, at, end);
    own = own_mark(t, p, end);
    most = most_at_end(t, at, end, own);
    if (first)
        charge_end(t, p, end, most);
    mark(t, p, own, end->vsz);
    p->more = (first || p->more) && own == ABSENT && most > known(p->peak_rss);
    if (own != ABSENT)
        bound_single(&t->bound, own);
    if (end->maxrss != ABSENT && end->maxrss > t->floor && t->children)
        bound_single(&t->bound, end->maxrss);
    else if (end->maxrss != ABSENT)
        bound_largest(&t->bound, end->maxrss);
    if (p->died_ns == ABSENT)
        p->died_ns = t->now_ns;
    if (at >= 0)
        live_drop(t, at);
    if (t->events && (end->waited || first))
        t->events->ended(t->context, p, end->how, end->status);
}

void tree_marks(struct tree *t, int pid, uint64_t rss, uint64_t vsz)
{
    int index = index_of(t, pid);
    struct proc_reading *r;

    if (index < 0 || t->live_of[index] < 0)
        return;
    mark(t, &t->all[index], rss, vsz);
    r = &t->live[t->live_of[index]].now;
    if (rss != ABSENT && (r->rss_peak == ABSENT || rss > r->rss_peak))
        r->rss_peak = rss;
}

uint64_t tree_read_pss(struct tree *t)
{
    struct timespec from, to;

    clock_gettime(CLOCK_MONOTONIC, &from);
    t->pss = 0;
    for (int i = 0; i < t->live_count; i++) {
        struct tree_live *l = &t->live[i];

        if (l->zombie)
            continue;
        proc_read_pss(&l->proc, &l->now);
        t->pss += known(l->now.pss);
    }
    if (t->peak_pss == ABSENT || t->pss > t->peak_pss)
        t->peak_pss = t->pss;
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (uint64_t)((to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec);
}

const struct tree_live *tree_largest(const struct tree *t)
{
    const struct tree_live *most = NULL;

    for (int i = 0; i < t->live_count; i++)
        if (!t->live[i].zombie && (!most || known(t->live[i].now.rss) > known(most->now.rss)))
            most = &t->live[i];
    return most;
}

int tree_kill(struct tree *t, int signal)
{
    int count = 0;

    for (int i = 0; i < t->live_count; i++)
        count += !t->live[i].zombie && !kill(t->live[i].proc.pid, signal);
    return count;
}

void tree_free(struct tree *t)
{
    while (t->live_count)
        live_drop(t, t->live_count - 1);
    proc_close(&t->self_proc);
    intmap_free(&t->by_pid);
    free(t->live);
    free(t->all);
    free(t->live_of);
    free(t->sources);
    *t = (struct tree){0};
}
