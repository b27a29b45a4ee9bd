#include "watch/tree.h"

#include "base/memory.h"
#include "watch/tree_inner.h"

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define SPARE_DESCRIPTORS 64
#define KEPT_PER_PROCESS 4
#define LOOK_EVERY 10        /* readings: even what has not moved */
#define REUSE_NS 1000000000u /* a pid does not come back sooner */

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

int tree_all_add(struct tree *t, int pid, int parent)
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

int tree_index_of(const struct tree *t, int pid)
{
    uint64_t index;

    return intmap_get(&t->by_pid, (uint64_t)pid, &index) ? (int)index : -1;
}

bool tree_has(const struct tree *t, int pid)
{
    int index = tree_index_of(t, pid);

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

const char *tree_name_in(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

void tree_file_name(int pid, char *name, size_t room)
{
    char path[32], file[PATH_MAX];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    n = readlink(path, file, sizeof(file) - 1);
    file[n > 0 ? n : 0] = '\0';
    snprintf(name, room, "%s", tree_name_in(file));
}

/* What this incarnation runs, if it is more than a copy of its parent: who has the same file may have
 * recorded itself already.
 */
static void note_file(const struct tree *t, struct tree_live *l)
{
    snprintf(l->ran, sizeof(l->ran), "%s", l->file);
    l->file[0] = '\0';
    if (t->events && (t->all[l->index].parent < 0 || tree_is_image(t, &t->all[l->index])))
        tree_file_name(l->proc.pid, l->file, sizeof(l->file));
}

int tree_add_named(struct tree *t, int pid, int parent, enum trace_born how, const char *name)
{
    struct proc_reading first = {0};
    bool keep = t->kept + KEPT_PER_PROCESS <= t->kept_most;
    struct tree_live *l;
    struct proc proc;
    int index = tree_index_of(t, pid);

    if (how == TRACE_BORN_FORKED && (!t->children || pid == getpid()))
        return -1; /* a program that starts us to be watched does not grow by us */
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
    if (parent < 0 && (parent = tree_index_of(t, first.ppid)) < 0 && t->all_count)
        parent = 0;
    index = tree_all_add(t, pid, parent);
    l = live_add(t);
    l->index = index;
    l->proc = proc;
    l->now = first;
    t->live_of[index] = t->live_count - 1;
    t->kept += keep ? KEPT_PER_PROCESS : 0;
    t->all[index].start_ticks = first.start_ticks;
    snprintf(t->all[index].name, sizeof(t->all[index].name), "%s", name ? name : first.name);
    t->newborn += (uint64_t)pid >
                  t->newest;      /* surely made since `newest`; after a wrap, not counted */
    l->now.minor_faults = ABSENT; /* so that the first reading is a change */
    if (how != TRACE_BORN_FOUND)
        l->now.child_minor_faults = 0; /* what it waited for before it was found counts, too */
    if (t->events)
        t->events->born(t->context, t, &t->all[index], how);
    note_file(t, l);
    if (how == TRACE_BORN_FORKED && !name && first.state != 'Z' &&
        !tree_is_image(t, &t->all[index]))
        t->sources[index] |= COPIED;
    return index;
}

int tree_add(struct tree *t, int pid, int parent, enum trace_born how)
{
    return tree_add_named(t, pid, parent, how, NULL);
}

void tree_live_drop(struct tree *t, int at)
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

void tree_mark(const struct tree *t, struct watch_process *p, uint64_t rss, uint64_t vsz)
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
        parent = tree_index_of(t, r.ppid);
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

bool tree_is_image(const struct tree *t, const struct watch_process *p)
{
    int own = t->live_of[p - t->all], parent = p->parent < 0 ? -1 : t->live_of[p->parent];

    return own >= 0 && parent >= 0 && t->live[own].now.image && t->live[parent].now.image &&
           t->live[own].now.image != t->live[parent].now.image;
}

void tree_new_incarnation(struct tree *t, int index)
{
    struct watch_process *p = &t->all[index];

    p->before = t->sources[index] & CLAIMED ? 0 : p->process;
    if (t->events) {
        t->events->ended(t->context, p, TRACE_END_EXECED, 0);
        t->events->born(t->context, t, p, TRACE_BORN_EXECED);
    }
    if (t->live_of[index] >= 0)
        note_file(t, &t->live[t->live_of[index]]);
    p->image_rss = ABSENT;
    t->sources[index] &= (unsigned char)~(CLAIMED | COPIED);
}

void tree_note_exec(struct tree *t, struct tree_live *l, const struct proc_reading *was)
{
    struct watch_process *p = &t->all[l->index];

    memcpy(p->name, l->now.name, sizeof(p->name));
    if (!l->now.image) /* it is about to end, or in the middle of an exec: none yet */
        l->now.image = was->image;
    if (!was->image || was->image == l->now.image)
        return;
    t->ended_unknown += !is_copy(t, l, was->image);
    tree_new_incarnation(t, l->index);
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
    tree_mark(t, &t->all[l->index], l->now.rss_peak, l->now.vsz_peak);
    return true;
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
    struct timespec from, to;

    clock_gettime(CLOCK_MONOTONIC, &from);
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
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (uint64_t)((to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec);
}

const struct tree_live *tree_largest(const struct tree *t)
{
    const struct tree_live *most = NULL;

    for (int i = 0; i < t->live_count; i++)
        if (!t->live[i].zombie &&
            (!most || tree_known(t->live[i].now.rss) > tree_known(most->now.rss)))
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
        tree_live_drop(t, t->live_count - 1);
    proc_close(&t->self_proc);
    intmap_free(&t->by_pid);
    free(t->live);
    free(t->all);
    free(t->live_of);
    free(t->sources);
    *t = (struct tree){0};
}
