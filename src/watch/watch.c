/* watch - see watch.h: one loop around one wait, which ends with a signal, an ending, a word on the
 * control socket or the next tick. tick.c samples, outcome.c says what was used.
 */
#include "watch/watch.h"

#include "attach/control.h"
#include "base/clock.h"
#include "base/memory.h"
#include "collect/collect.h"
#include "watch/watcher.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST_NS 1500000u /* after exec: a command that ends at once should not wait for us */
#define UNPOLLED_NS 4000000
#define TOGETHER_NS 5000000u
#define SNAPSHOT_NS 10000000u

uint64_t watcher_mono(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t watcher_real(void)
{
    return clock_ns(CLOCK_REALTIME);
}

void watcher_read(struct watcher *w, uint64_t mono_ns)
{
    if (w->o->collect)
        collect_look(w->o->collect);
    tree_read(&w->tree, mono_ns, watcher_real());
}

/* ---- the loop ---- */

/* Read what recorded programs have written, as often as the collector asks for. */
static void drain(struct watcher *w)
{
    uint64_t now = watcher_mono();

    if (w->o->collect && now >= w->drain_ns)
        w->drain_ns = now + collect_pass(w->o->collect) * 1000ull;
}

/* To be woken at every end costs the program more than that it is told: unless asked for, those of
 * a few milliseconds are taken together.
 */
static bool hears_endings(const struct watcher *w)
{
    return w->o->exact || watcher_mono() >= w->unheard_ns;
}

static uint64_t next_wake(const struct watcher *w)
{
    uint64_t next = w->o->collect && w->drain_ns < w->next_ns ? w->drain_ns : w->next_ns;
    uint64_t end = w->begun_ns + w->o->duration_ns;

    if (!hears_endings(w) && w->unheard_ns < next)
        next = w->unheard_ns;
    return w->o->duration_ns && end < next ? end : next;
}

/* Where the call is forbidden all are looked at now and then: none of them waits for anything. */
static int look_at_all(struct pollfd *fds, int count, const struct timespec *patience)
{
    struct timespec moment = {0, UNPOLLED_NS};

    if (!patience->tv_sec && patience->tv_nsec < UNPOLLED_NS)
        moment = *patience;
    nanosleep(&moment, NULL);
    for (int i = 0; i < count; i++)
        fds[i].revents = fds[i].fd >= 0 ? POLLIN : 0;
    return count;
}

static int wait_for(struct pollfd *fds, int count, const struct timespec *patience)
{
    int ready = ppoll(fds, (nfds_t)count, patience, NULL);

    return ready < 0 && errno != EINTR ? look_at_all(fds, count, patience) : ready;
}

static void wait_for_something(struct watcher *w)
{
    struct pollfd fds[4 + GAUGED_DESCRIPTORS] = {
        {.fd = w->signals, .events = POLLIN},
        {.fd = hears_endings(w) ? w->ends.records.fd : -1, .events = POLLIN},
        {.fd = w->control, .events = POLLIN}, /* -1: not looked at */
        {.fd = w->o->collect ? collect_door(w->o->collect) : -1, .events = POLLIN}};
    uint64_t now = watcher_mono(), next = next_wake(w), ns = next > now ? next - now : 0;
    struct timespec patience = clock_timespec(ns);
    int count = 4 + gauged_descriptors(&w->gauged, fds + 4);

    if (wait_for(fds, count, &patience) <= 0)
        return;
    for (int i = 4; i < count; i++)
        if (fds[i].revents)
            gauged_hear(&w->gauged, watcher_mono());
    if (fds[3].revents)
        collect_answer_door(w->o->collect);
    if (fds[1].revents) {
        if (ends_drain(&w->ends, &w->tree))
            tick_at_ending(w);
        w->unheard_ns = watcher_mono() + TOGETHER_NS;
    }
    if (fds[2].revents)
        told_words(w);
    if (fds[0].revents)
        told_signals(w);
}

/* Ticks stand at whole intervals from the start; the first reading comes before them. */
static uint64_t next_tick(const struct watcher *w, uint64_t last_ns)
{
    return last_ns < w->started_ns + w->o->interval_ns ? w->started_ns + w->o->interval_ns
                                                       : last_ns + w->o->interval_ns;
}

/* For a snapshot the processes are looked at at once; for many of them in a row only now and then.
 */
static void look_for_snapshot(struct watcher *w, uint64_t now)
{
    uint64_t asked = w->o->collect ? collect_snapshots(w->o->collect) + w->snapshots_told : 0;

    if (asked == w->snapshots_seen || now - w->snapshot_ns < SNAPSHOT_NS)
        return;
    w->snapshots_seen = asked;
    w->snapshot_ns = now;
    tick(w);
}

static void loop(struct watcher *w)
{
    while (!w->done) {
        uint64_t now;

        wait_for_something(w);
        drain(w);
        now = watcher_mono();
        if (w->o->duration_ns && now >= w->begun_ns + w->o->duration_ns)
            w->done = true;
        if (!w->done && now < w->next_ns)
            look_for_snapshot(w, now);
        if (w->done || now < w->next_ns)
            continue;
        tick(w);
        if (!w->root && !w->tree.live_count)
            w->done = true;
        w->next_ns = next_tick(w, w->next_ns);
        now = watcher_mono();
        if (w->next_ns < now) { /* a reading took longer than an interval */
            uint64_t missed = (now - w->next_ns) / w->o->interval_ns + 1;

            w->late += missed;
            w->next_ns += missed * w->o->interval_ns;
        }
    }
}

static void look_before_end(void *collect)
{
    collect_look(collect);
}

static uint64_t number_process(void *context, const struct claimant *who)
{
    struct tree *t = context;

    t->now_ns = watcher_mono();
    return tree_claim(t, who);
}

/* ---- the start ---- */

/* Exit records where the kernel gives them; where it does not, a stop at every exit if that is
 * asked for.
 */
static void choose_method(struct watcher *w)
{
    struct err ignored;

    w->result->method = "sampled";
    if (!w->o->argv || !(w->o->exact || w->o->children))
        return;
    w->tree.records = records_open(&w->ends.records, &ignored) == 0;
    if (w->tree.records) {
        w->result->method = records_method;
    } else if (w->o->exact) {
        w->result->method = stops_method;
        w->tree.records = w->traced = true;
    }
}

static void prepare(struct watcher *w)
{
    struct watch_result *r = w->result;

    *r = (struct watch_result){
        .command = w->o->command,
        .interval_ns = w->o->interval_ns,
        .children = w->o->children,
    };
    w->ends = (struct ends){.records.fd = -1,
                            .on_end = w->o->collect ? look_before_end : NULL,
                            .context = w->o->collect};
    w->tree.children = w->o->children;
    w->tree.details = w->o->store != NULL;
    w->tree.since = w->o->library != NULL;
    w->tree.self = w->o->argv ? getpid() : 0;
    w->recorder.store = w->o->store;
    w->recorder.collect = w->o->collect;
    w->recorder.cover = w->o->collect != NULL;
    w->recorder.on_process = w->o->on_process;
    w->recorder.seer = w->o->seer;
    w->recorder.redact = w->o->redact;
    w->recorder.group = &w->group;
    if (w->o->store) {
        w->tree.events = &recorder_events;
        w->tree.context = &w->recorder;
    }
    choose_method(w);
    if (w->o->collect)
        collect_numbered_by(w->o->collect, number_process, &w->tree);
    recorder_begin(&w->recorder, w->o->argv, w->o->pid_count ? w->o->pids[0] : 0, w->o->interval_ns,
                   r->method);
    if (!w->o->argv)
        recorder_pids(&w->recorder, w->o->pids, w->o->pid_count);
}

static int begin(struct watcher *w, struct err *err)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &w->mask);
    w->ignored_children = signal(SIGCHLD, SIG_DFL) == SIG_IGN; /* or nothing could be waited for */
    w->signals = signals_open();
    if (w->signals < 0)
        return err_code(err, 125, "cannot watch signals: %s", strerror(errno));
    if (w->o->collect)
        w->control = control_listen();
    if (w->o->collect && w->control < 0 && w->o->on_deaf)
        w->o->on_deaf(w->o->context, errno);
    tree_init(&w->tree);
    gauged_prepare(&w->gauged, w->o->devices, &w->tree, w->o->store);
    gauged_wait(&w->gauged, w->signals);
    w->started_ns = watcher_mono();
    w->result->start_real_ns = watcher_real();
    w->tree.now_ns = w->started_ns;
    return w->o->argv ? start_command(w, err) : start_found(w, err);
}

/* It could not: the caller goes on as if nothing had been. */
static void begin_never(const struct watcher *w)
{
    self_adopt(false);
    if (w->ignored_children)
        signal(SIGCHLD, SIG_IGN);
    sigprocmask(SIG_SETMASK, &w->mask, NULL);
}

/* While the tree still knows the processes. */
static void finish_collecting(struct watcher *w)
{
    struct absorb_counts counts;

    if (!w->o->collect)
        return;
    collect_account(w->o->collect, &w->recorder.account);
    w->recorder.collect = NULL;
    collect_finish(w->o->collect, &counts);
    w->result->tensors_from = counts.tensors_from;
    w->result->windows = counts.windows;
    w->result->steps = counts.steps;
    w->result->watched = counts.watched;
    memcpy(w->result->framework, counts.framework, sizeof(counts.framework));
}

int watch(const struct watch_options *o, struct arena *arena, struct watch_result *result,
          struct err *err)
{
    struct watcher *w = memory_zeroed(sizeof(*w));
    uint64_t ended_ns;
    int failed;

    w->o = o;
    w->result = result;
    w->control = w->signals = -1;
    w->oom_before = ABSENT;
    prepare(w);
    failed = begin(w, err);
    if (!failed) {
        if (o->on_begun)
            o->on_begun(o->context);
        w->next_ns = watcher_mono() + (w->root ? FIRST_NS : 0);
        w->begun_ns = watcher_mono();
        loop(w);
        ended_ns = watcher_mono();
        gauged_stop(&w->gauged, ended_ns);
        parting_leave(w);
        parting_sweep(w);
        parting_endings(w, ended_ns);
        finish_collecting(w);
        outcome(w, ended_ns, arena);
    } else {
        finish_collecting(w);
        begin_never(w);
    }
    if (w->signals >= 0)
        close(w->signals);
    if (w->control >= 0)
        close(w->control);
    gauged_free(&w->gauged);
    ends_close(&w->ends);
    group_close(&w->group);
    machine_close(&w->machine);
    tree_free(&w->tree);
    coverage_free(&w->recorder.coverage);
    probing_end(&w->recorder.probing);
    free(w->points);
    free(w);
    return failed;
}
