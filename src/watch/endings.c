/* endings - processes that ended: what each used, and what it held last. See watcher.h. */
#include "base/clock.h"
#include "collect/collect.h"
#include "watch/watcher.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void add_usage(struct watcher *w, const struct rusage *u)
{
    w->result->user_ns += clock_ns_of_timeval(u->ru_utime);
    w->result->system_ns += clock_ns_of_timeval(u->ru_stime);
    w->result->minor_faults += (uint64_t)u->ru_minflt;
    w->result->major_faults += (uint64_t)u->ru_majflt;
}

/* Its own, which the kernel tells together with that of the children that it has waited for: there
 * were none where they left no faults. Of one that had some, its zombie shows ticks.
 */
static struct proc_usage usage_of(const struct rusage *usage, const struct proc_reading *zombie)
{
    struct proc_usage u = PROC_USAGE_UNKNOWN;
    uint64_t tick_ns = CLOCK_SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK);

    if (!zombie || zombie->minor_faults == ABSENT)
        return u;
    u.minor_faults = zombie->minor_faults;
    u.major_faults = zombie->major_faults;
    u.user_ns = zombie->user_ticks * tick_ns;
    u.system_ns = zombie->system_ticks * tick_ns;
    if (zombie->child_minor_faults)
        return u;
    u.user_ns = clock_ns_of_timeval(usage->ru_utime);
    u.system_ns = clock_ns_of_timeval(usage->ru_stime);
    u.cpu_ns = u.user_ns + u.system_ns;
    u.waited = (uint64_t)usage->ru_nvcsw;
    u.forced = (uint64_t)usage->ru_nivcsw;
    return u;
}

/* A process ended and can be, or was, waited for. */
static void note_end(struct watcher *w, int pid, int status, const struct rusage *usage,
                     const struct proc_reading *zombie)
{
    struct proc_end end = {
        .pid = pid,
        .ppid = zombie ? zombie->ppid : 0,
        .name = zombie ? zombie->name : NULL,
        .waited = true,
        .rss = ABSENT,
        .vsz = ABSENT,
        .maxrss = proc_most_resident(usage),
        .minor_faults = zombie ? zombie->minor_faults : ABSENT,
        .child_faults = zombie ? zombie->child_minor_faults : ABSENT,
        .lived_ns = ABSENT,
        .used = usage_of(usage, zombie),
        .ignored_children = zombie && zombie->ignores_children,
        .signaled = WIFSIGNALED(status),
        .status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
    };

    w->tree.now_ns = watcher_mono();
    if (w->tree.children || pid == w->root)
        tree_ended(&w->tree, &end);
    if (!zombie || zombie->ppid == w->tree.self) /* its usage holds all that it waited for */
        add_usage(w, usage);
    if (pid == w->root) {
        w->status = status;
        w->result->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
        w->result->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
        w->done = true;
    }
}

/* Look at each zombie before it is taken away: its fault counts tell what its marks cannot. */
static void reap(struct watcher *w)
{
    siginfo_t info = {0};

    while (!waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid) {
        struct proc_reading zombie = {0};
        struct proc p;
        struct rusage usage;
        bool read;
        int status;

        if (gauged_ended(&w->gauged, info.si_pid)) {
            wait4(info.si_pid, &status, 0, &usage);
            info.si_pid = 0;
            continue;
        }
        recorder_ending(&w->recorder, info.si_pid);
        read = !proc_open(&p, info.si_pid, false) && !proc_read_stat(&p, &zombie);
        if (wait4(info.si_pid, &status, 0, &usage) == info.si_pid)
            note_end(w, info.si_pid, status, &usage, read ? &zombie : NULL);
        info.si_pid = 0;
    }
}

static void reap_traced(struct watcher *w)
{
    struct stop s;

    while (stops_next(&s)) {
        struct proc_reading r = {.ppid = s.pid == w->root ? w->tree.self : 0,
                                 .minor_faults = ABSENT,
                                 .child_minor_faults = ABSENT};

        if (!s.stopped && gauged_ended(&w->gauged, s.pid))
            continue;
        if (s.at_exit)
            tick_at_ending(w); /* the dying still holds its memory */
        if (s.stopped) {
            ends_stopped(&w->tree, &s);
            stops_resume(&s);
        } else if (tree_has(&w->tree, s.pid) || s.pid == w->root) {
            note_end(w, s.pid, s.status, &s.usage, &r);
            tick_at_ending(w);
        }
    }
}

void endings_take(struct watcher *w)
{
    if (w->o->collect) /* while the tree knows who they are */
        collect_look(w->o->collect);
    if (w->ends.records.fd >= 0)
        ends_drain(&w->ends, &w->tree);
    if (w->traced)
        reap_traced(w);
    else
        reap(w);
}
