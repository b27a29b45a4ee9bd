/* tree - see tree.h: who is in it, from birth to end. tree_read.c reads them, tree_account.c adds
 * up, tree_claim.c says whose a ring is.
 */
#include "procs/tree.h"

#include "base/memory.h"
#include "base/text.h"
#include "procs/tree_inner.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void tree_init(struct tree *t)
{
    t->newest = proc_newest();
    t->peak_pss = t->pss = ABSENT;
    t->scan = !proc_has_children_lists();
    if (t->self)
        proc_open(&t->self_proc, t->self, false);
}

int tree_all_add(struct tree *t, int pid, int parent)
{
    int index = (int)t->all_count;

    memory_fit(t->all, t->all_room, t->all_count + 1);
    memory_fit(t->live_of, t->live_of_room, t->all_count + 1);
    memory_fit(t->sources, t->source_room, t->all_count + 1);
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

bool tree_is_helper(const struct tree *t, int pid)
{
    return t->is_helper && t->is_helper(t->helpers, pid);
}

bool tree_has(const struct tree *t, int pid)
{
    int index = tree_index_of(t, pid);

    return index >= 0 && t->live_of[index] >= 0;
}

static struct tree_live *live_add(struct tree *t)
{
    memory_fit(t->live, t->live_room, t->live_count + 1);
    memset(&t->live[t->live_count], 0, sizeof(*t->live));
    return &t->live[t->live_count++];
}

void tree_file_name(int pid, char *name, size_t room)
{
    char file[PATH_MAX];

    proc_file(pid, file, sizeof(file));
    snprintf(name, room, "%s", text_base(file));
}

/* What this incarnation runs, if it is more than a copy of its parent: who has the same file may
 * have recorded itself already.
 */
static void note_file(const struct tree *t, struct tree_live *l)
{
    snprintf(l->ran, sizeof(l->ran), "%s", l->file);
    l->file[0] = '\0';
    if (t->events && (t->all[l->index].parent < 0 || tree_is_image(t, &t->all[l->index])))
        tree_file_name(l->proc.pid, l->file, sizeof(l->file));
}

/* Its marks of all its life, and what it has used. */
static void note_then(struct tree_live *l)
{
    l->older = true;
    l->then = l->now;
    proc_read_stat(&l->proc, &l->then);
    proc_read_status(&l->proc, &l->then);
}

int tree_add_named(struct tree *t, int pid, int parent, enum trace_born how, const char *name)
{
    struct proc_reading first = {0};
    struct tree_live *l;
    struct proc proc;
    int index = tree_index_of(t, pid);

    if (how == TRACE_BORN_FORKED && (!t->children || pid == getpid()))
        return -1; /* a program that starts us to be watched does not grow by us */
    if (index >= 0 && t->live_of[index] < 0 && t->all[index].died_ns + TREE_REUSE_NS > t->now_ns)
        return -1; /* it has ended, and was not taken away yet */
    if (proc_open(&proc, pid, true) < 0)
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
    t->all[index].start_ticks = first.start_ticks;
    snprintf(t->all[index].name, sizeof(t->all[index].name), "%s", name ? name : first.name);
    t->newborn += (uint64_t)pid >
                  t->newest;      /* surely made since `newest`; after a wrap, not counted */
    l->now.minor_faults = ABSENT; /* so that the first reading is a change */
    if (how != TRACE_BORN_FOUND)
        l->now.child_minor_faults = 0; /* what it waited for before it was found counts, too */
    if (t->since && how == TRACE_BORN_FOUND)
        note_then(l);
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
    if (tree_is_helper(t, pid))
        return -1;
    return tree_add_named(t, pid, parent, how, NULL);
}

void tree_live_drop(struct tree *t, int at)
{
    struct tree_live *l = &t->live[at];

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

/* What the process that forked it runs; 0: not known. */
static uint64_t parents_image(const struct tree *t, const struct watch_process *p)
{
    int at = p->parent < 0 ? -1 : t->live_of[p->parent];

    return at < 0 ? 0 : t->live[at].now.image;
}

static uint64_t own_image(const struct tree *t, const struct watch_process *p)
{
    int at = t->live_of[p - t->all];

    return at < 0 ? 0 : t->live[at].now.image;
}

bool tree_is_image(const struct tree *t, const struct watch_process *p)
{
    uint64_t own = own_image(t, p), parents = parents_image(t, p);

    return own && parents && own != parents;
}

bool tree_is_copy(const struct tree *t, const struct watch_process *p)
{
    uint64_t own = own_image(t, p);

    return own && own == parents_image(t, p);
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
    t->ended_unknown += was->image !=
                        parents_image(t, p);      /* a copy shares all its memory with it */
    l->then.rss_peak = l->then.vsz_peak = ABSENT; /* of the memory that it had */
    tree_new_incarnation(t, l->index);
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
