/* tree_claim - which incarnation of which process a recording belongs to.
 *
 * A recorded process says its pid and its file, and is heard of later: by then it may have gone on
 * by exec, once or often, or be gone. Claims come in the order of what they claim.
 */
#include "base/text.h"
#include "procs/tree_inner.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A process that ended before it could be read; what it ran is known. */
static int add_gone(struct tree *t, const struct claimant *who)
{
    int from = who->parent ? tree_index_of(t, who->parent) : -1;
    int index = tree_all_add(t, who->pid, from < 0 && t->all_count ? 0 : from);

    t->all[index].died_ns = t->now_ns;
    snprintf(t->all[index].name, sizeof(t->all[index].name), "%s", who->name);
    if (t->events) {
        t->events->born(t->context, t, &t->all[index], TRACE_BORN_FORKED);
        t->events->ended(t->context, &t->all[index], TRACE_END_UNKNOWN, 0);
    }
    return index;
}

/* One that is gone went on by exec before: the same process, if nobody can have its pid by now. */
static bool goes_on(const struct tree *t, int pid, int index)
{
    return pid > 0 && index >= 0 && t->all[index].died_ns != ABSENT &&
           t->all[index].died_ns + TREE_REUSE_NS > t->now_ns;
}

static int go_on_gone(struct tree *t, int index, const char *name)
{
    snprintf(t->all[index].name, sizeof(t->all[index].name), "%s", name);
    tree_new_incarnation(t, index);
    if (t->events)
        t->events->ended(t->context, &t->all[index], TRACE_END_UNKNOWN, 0);
    return index;
}

static uint64_t claim(struct tree *t, const struct watch_process *p, int number, const char *file,
                      const char *renamed)
{
    struct watch_process then = *p;

    then.process = number;
    if (t->events)
        t->events->claimed(t->context, &then, file, renamed);
    return (uint64_t)number;
}

/* Whether a process runs another file by now: by name, as its folder may be seen from another root
 * and the file may have been deleted.
 */
static bool is_other(const char *now, const char *file)
{
    const char *name = text_base(file);
    size_t bytes = strlen(name);

    if (!now[0] || !bytes)
        return false;
    return strncmp(now, name, bytes) != 0 || (now[bytes] && strcmp(now + bytes, " (deleted)"));
}

static bool has_moved_on(int pid, const char *file)
{
    char now[PATH_MAX];

    tree_file_name(pid, now, sizeof(now));
    return is_other(now, file);
}

/* One that is heard of for the first time; *moved: by now it runs another file. What it runs cannot
 * be asked any more when its memory is gone.
 */
static int add_claimant(struct tree *t, const struct claimant *who, bool *moved)
{
    int index, before = tree_index_of(t, who->pid);
    char now[PATH_MAX];

    tree_file_name(who->pid, now, sizeof(now));
    *moved = is_other(now, who->file);
    t->claiming = true;
    index = tree_add_named(t, who->pid, -1, TRACE_BORN_FORKED,
                           *moved || !now[0] ? who->name : NULL);
    *moved = index >= 0 && (*moved || has_moved_on(who->pid, who->file)); /* meanwhile, perhaps */
    if (index < 0)
        index = goes_on(t, who->pid, before) ? go_on_gone(t, before, who->name) : add_gone(t, who);
    t->claiming = false;
    return index;
}

/* Whether the incarnation before the present one ran this file: then it is the first to claim it.
 * What goes on by exec was forked, if ever, before.
 */
static bool has_run(const struct tree *t, int index, const struct claimant *who)
{
    const struct tree_live *l = t->live_of[index] >= 0 ? &t->live[t->live_of[index]] : NULL;

    return who->forked ||
           (l && l->ran[0] && strncmp(l->ran, text_base(who->file), sizeof(l->ran) - 1) == 0);
}

/* The image that is read now is that of the new incarnation, or of a later one. */
static void note_unseen_exec(struct tree *t, int index)
{
    struct tree_live *l = &t->live[t->live_of[index]];

    proc_read_stat(&l->proc, &l->now);
    l->now.minor_faults = ABSENT;
    memcpy(t->all[index].name, l->now.name, sizeof(t->all[index].name));
    tree_new_incarnation(t, index);
}

static bool has_name(const struct watch_process *p, const char *name)
{
    return strncmp(p->name, name, sizeof(p->name) - 1) == 0;
}

/* What it runs cannot be asked any more: its memory is gone. */
static bool is_over(int pid)
{
    char file[2];

    tree_file_name(pid, file, sizeof(file));
    return !file[0];
}

/* Whether it was seen before its exec, or in the middle of it, but not since: it has the name of
 * what it was forked from, and runs another file.
 */
static bool has_unseen_file(const struct tree *t, int index, const char *file)
{
    int from = t->all[index].parent;

    if (!(t->sources[index] & COPIED))
        return false;
    while (from >= 0 && t->live_of[from] >= 0 && !t->live[t->live_of[from]].file[0])
        from = t->all[from].parent; /* a copy itself */
    return from >= 0 && t->live_of[from] >= 0 &&
           strncmp(t->live[t->live_of[from]].file, text_base(file), TREE_FILE - 1) != 0;
}

uint64_t tree_claim(struct tree *t, const struct claimant *who)
{
    int index = tree_index_of(t, who->pid), before;
    bool moved = false, renamed;

    if (index < 0 || (t->live_of[index] < 0 && (t->sources[index] & CLAIMED))) {
        index = add_claimant(t, who, &moved);
    } else if (t->live_of[index] >= 0) {
        struct tree_live *l = &t->live[t->live_of[index]];
        struct proc_reading was = l->now;

        if (!proc_read_stat(&l->proc, &l->now))
            tree_note_exec(t, l, &was);
        l->now.minor_faults = ABSENT; /* this was not a reading of its marks */
        moved = has_moved_on(who->pid, who->file);
    }
    before = t->all[index].before;
    t->all[index].before = 0;
    if (before && (moved || has_run(t, index, who)))
        return claim(t, &t->all[index], before, who->file, NULL); /* its exec was seen first */
    if (t->sources[index] & CLAIMED) { /* one that came and went by exec between two looks */
        if (moved || is_over(who->pid))
            snprintf(t->all[index].name, sizeof(t->all[index].name), "%s", who->name);
        tree_new_incarnation(t, index);
    }
    t->sources[index] |= CLAIMED;
    before = t->all[index].process;
    renamed = ((moved || is_over(who->pid)) && !has_name(&t->all[index], who->name)) ||
              has_unseen_file(t, index, who->file);
    if (moved)
        note_unseen_exec(t, index);
    return claim(t, &t->all[index], before, who->file, renamed ? who->name : NULL);
}
