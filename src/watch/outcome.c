/* outcome - what a watch has shown: the peak and what it rests on, how it ended, the totals. */
#include "watch/watcher.h"

#include "base/clock.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void describe_peak(struct watcher *w)
{
    struct watch_result *r = w->result;
    const struct bound *b = &w->tree.bound;
    uint64_t slack = b->lower / 200; /* the kernel's own counters are no finer */
    bool helps = w->root && !w->tree.records;
    char *out = r->peak_basis;
    size_t room = sizeof(r->peak_basis);
    char hidden[96] = "";

    if (w->tree.hidden)
        snprintf(hidden, sizeof(hidden),
                 " and up to %" PRIu64 " unseen between samples, if each was waited for",
                 w->tree.hidden);
    r->peak_lower = b->lower;
    r->peak_upper = bound_upper(b);
    r->peak_at_most = w->tree.floored && r->process_count == 1;
    r->peak_exact = r->peak_upper != ABSENT && r->peak_upper - r->peak_lower <= slack &&
                    !r->peak_at_most;
    if (r->peak_exact)
        r->peak_upper = r->peak_lower;
    if (r->peak_at_most)
        snprintf(out, room, "too small and too short-lived to be told apart from its launcher");
    else if (r->peak_exact && r->process_count == 1)
        snprintf(out, room, "one process, the kernel's own high-water mark%s",
                 w->root         ? ""
                 : w->tree.since ? ", which has moved since the attach"
                                 : ", over its whole life: perhaps from before it was watched");
    else if (r->peak_exact)
        snprintf(out, room,
                 "%zu processes, and the sum seen at one moment is the sum of their marks",
                 r->process_count);
    else if (r->peak_upper == ABSENT)
        snprintf(out, room, "%s%s", b->open, helps ? "; --exact sees them" : "");
    else if (w->tree.shadowed && r->process_count == 1)
        snprintf(out, room,
                 "what it grew by after its last sample cannot be told apart from its launcher%s",
                 helps ? "; --exact can" : "");
    else
        snprintf(out, room, "%zu process%s%s, sampled %s %g ms%s", r->process_count,
                 r->process_count == 1 ? "" : "es", hidden,
                 w->tree.records ? "when one ends and every" : "every",
                 (double)w->o->interval_ns / 1e6,
                 helps           ? "; --exact narrows it"
                 : w->tree.since ? ", since the attach; at most what it ever held, also before"
                                 : "");
}

/* Was it the kernel that killed it? Its own group's counter is proof, the machine's nearly. */
static bool killed_for_memory(struct watcher *w)
{
    uint64_t mine = group_kills(&w->group), all = machine_oom_kills(&w->machine);

    if (!WIFSIGNALED(w->status) || WTERMSIG(w->status) != SIGKILL || w->stopping ||
        w->passed_on == SIGKILL)
        return false;
    if (mine != ABSENT && mine > 0)
        return true;
    return all != ABSENT && w->oom_before != ABSENT && all > w->oom_before;
}

static void describe_end(struct watcher *w, char *how, size_t room)
{
    struct watch_result *r = w->result;

    r->exit_code = -1;
    r->ended = w->root != 0;
    if (!w->root) {
        snprintf(how, room, "%s",
                 w->tree.live_count ? "still running when the watch ended" : "ended");
    } else if (WIFSIGNALED(w->status)) {
        r->signal = WTERMSIG(w->status);
        r->oom_killed = killed_for_memory(w);
        snprintf(how, room, "killed by signal %d (SIG%s)%s", r->signal,
                 sigabbrev_np(r->signal) ? sigabbrev_np(r->signal) : "?",
                 r->oom_killed ? ", out of memory" : "");
    } else {
        r->exit_code = WEXITSTATUS(w->status);
        snprintf(how, room, "exited with %d", r->exit_code);
    }
}

/* What outlived the command, or was watched but is not ours, has used CPU so far as well. */
static void add_living(struct watcher *w)
{
    uint64_t tick_ns = CLOCK_SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK);

    for (int i = 0; i < w->tree.live_count; i++) {
        const struct proc_reading *r = &w->tree.live[i].now, none = {0};
        const struct proc_reading *then = w->tree.live[i].older ? &w->tree.live[i].then : &none;

        w->result->user_ns += (r->user_ticks - then->user_ticks) * tick_ns;
        w->result->system_ns += (r->system_ticks - then->system_ticks) * tick_ns;
        w->result->minor_faults += r->minor_faults == ABSENT ? 0
                                                             : r->minor_faults - then->minor_faults;
        w->result->major_faults += r->major_faults - then->major_faults;
    }
}

/* What a process used that nobody has waited for (its parent ignored SIGCHLD, or was killed) is in
 * no account of the kernel's but its own.
 */
static void add_unaccounted(struct watcher *w)
{
    struct watch_result *r = w->result;
    struct proc_usage each = tree_used(&w->tree);

    if (each.user_ns + each.system_ns > r->user_ns + r->system_ns) {
        r->user_ns = each.user_ns;
        r->system_ns = each.system_ns;
    }
    if (each.minor_faults > r->minor_faults)
        r->minor_faults = each.minor_faults;
    if (each.major_faults > r->major_faults)
        r->major_faults = each.major_faults;
}

static void *keep(struct arena *a, const void *from, size_t bytes)
{
    return bytes ? memcpy(arena_alloc(a, bytes), from, bytes) : NULL;
}

void outcome(struct watcher *w, uint64_t ended_ns, struct arena *arena)
{
    struct watch_result *r = w->result;
    char how[96];

    r->end_real_ns = watcher_real();
    r->duration_ns = ended_ns - w->started_ns;
    tree_settle(&w->tree);
    if (w->root && w->tree.live_count)
        bound_unknown(
            &w->tree.bound,
            "a process outlived the command, and with it the account of the children it had waited "
            "for");
    r->outlived = w->root ? w->tree.alive : 0;
    r->process_count = w->tree.all_count;
    r->peak_vsz = w->tree.peak_vsz ? w->tree.peak_vsz : ABSENT;
    r->peak_pss = w->tree.peak_pss;
    for (size_t i = 0; i < w->tree.all_count; i++)
        if (w->tree.all[i].peak_vsz != ABSENT &&
            (r->peak_vsz == ABSENT || w->tree.all[i].peak_vsz > r->peak_vsz))
            r->peak_vsz = w->tree.all[i].peak_vsz;
    if (r->peak_vsz != ABSENT && r->peak_vsz < w->tree.bound.single)
        r->peak_vsz = w->tree.bound.single; /* read before the last growth; it is never below RSS */
    if (!r->rss.count && w->tree.bound.lower)
        watch_range_add(&r->rss, w->tree.bound.lower); /* too short for a sample */
    add_living(w);
    add_unaccounted(w);
    r->sample_cost_ns = r->samples ? w->spent_ns / r->samples : 0;
    r->cgroup_peak = group_peak(&w->group);
    describe_peak(w);
    describe_end(w, how, sizeof(how));
    if (w->o->threshold != ABSENT && r->peak_lower > w->o->threshold && !r->threshold_exceeded)
        tick_alert(w, r->peak_lower, true);
    recorder_loss(&w->recorder, w->late, "samples that could not be taken in time");
    recorder_end(&w->recorder, &w->tree, r, how);
    r->alerts = keep(arena, w->alerts, r->alert_count * sizeof(*w->alerts));
    r->processes = keep(arena, w->tree.all, w->tree.all_count * sizeof(*w->tree.all));
    r->points = keep(arena, w->points, r->point_count * sizeof(*w->points));
    gauged_result(&w->gauged, r, arena);
}
