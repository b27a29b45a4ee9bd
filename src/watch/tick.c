/* tick - one reading of the tree and the machine. */
#include "watch/limits.h"
#include "watch/watcher.h"

#include "base/clock.h"
#include "base/count.h"
#include "base/memory.h"
#include "collect/collect.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MACHINE_NS 100000000u /* the whole machine, when nobody records it: at most this often */
#define EVENT_SHARE 8u        /* readings that an ending asks for may take one part in this many, */
#define STOP_SHARE 2u         /* or where each ending stops for us anyway */
#define PSS_SHARE 100u        /* proportional sizes may take one part in this many of the time */
#define PSS_GROWTH 20u        /* "well beyond" is one part in this many */
#define KILL_NS (2u * CLOCK_SECOND_NS)
#define RESIDED_SHARE 300u /* what is resident where: one part in this many of the time */
#define RESIDED_GROWTH 10u /* sooner, if more is resident than ever by one part in this many: */
#define GROWN_SHARE 30u    /* that cannot happen often, and what a peak is made of depends on it */
#define RESIDED_PROCESSES 64
#define RESIDED_THREADS 512

void tick_alert(struct watcher *w, uint64_t total, bool between)
{
    const struct tree_live *largest = tree_largest(&w->tree);
    struct watch_alert a = {
        .elapsed_ns = w->tree.now_ns - w->started_ns,
        .limit = w->o->threshold,
        .total = total,
        .processes = w->tree.alive,
        .between = between,
    };

    if (largest) {
        a.pid = largest->proc.pid;
        a.rss = largest->now.rss;
        memcpy(a.name, largest->now.name, sizeof(a.name));
    }
    if (w->result->alert_count < ALERTS_MOST)
        w->alerts[w->result->alert_count++] = a;
    w->result->threshold_exceeded = true;
    recorder_alert(&w->recorder, &w->tree, &a);
    if (w->o->on_alert)
        w->o->on_alert(w->o->context, &a);
}

static void check_threshold(struct watcher *w)
{
    bool above = w->tree.rss > w->o->threshold;

    if (above && !w->above)
        tick_alert(w, w->tree.rss, false);
    w->above = above;
    if (above && w->o->kill_at_threshold && !w->stopping) {
        w->stopping = true;
        tree_kill(&w->tree, SIGTERM);
        w->kill_ns = w->tree.now_ns + KILL_NS;
    }
    if (w->stopping && w->tree.now_ns >= w->kill_ns)
        tree_kill(&w->tree, SIGKILL);
}

static void keep_point(struct watcher *w)
{
    struct watch_point point = {w->tree.real_ns, w->tree.rss, w->tree.vsz};

    if (w->o->on_point)
        w->o->on_point(w->o->context, &point);
    if (!w->o->keep_points)
        return;
    memory_fit(w->points, w->point_room, w->result->point_count + 1);
    w->points[w->result->point_count++] = point;
}

static void show(struct watcher *w)
{
    struct watch_view v = {
        .elapsed_ns = w->tree.now_ns - w->started_ns,
        .rss = w->tree.rss,
        .vsz = w->tree.vsz,
        .peak_rss = w->tree.bound.lower,
        .peak_vsz = w->tree.peak_vsz,
        .processes = w->tree.alive,
    };
    const size_t most = COUNT(v.top);

    for (int i = 0; i < w->tree.live_count; i++) {
        const struct tree_live *l = &w->tree.live[i];
        struct watch_top one = {l->now.name, l->proc.pid, l->now.rss};

        for (size_t k = 0; k < most && !l->zombie && one.rss != ABSENT; k++)
            if (!v.top[k].name || one.rss > v.top[k].rss) {
                struct watch_top smaller = v.top[k];

                v.top[k] = one;
                one = smaller;
                if (!one.name)
                    break;
            }
    }
    w->o->on_tick(w->o->context, &v);
}

/* Proportional sizes cost time in the target, so they are rationed: whenever the budget allows, and
 * when the tree has grown well beyond what it was at any round before, which cannot happen often.
 */
static void read_pss(struct watcher *w)
{
    bool grown = w->tree.rss > w->pss_rss + w->pss_rss / PSS_GROWTH;

    w->tree.pss = ABSENT;
    if (!w->o->pss || (w->tree.now_ns < w->pss_ns && !grown))
        return;
    if (w->tree.rss > w->pss_rss)
        w->pss_rss = w->tree.rss;
    w->pss_ns = w->tree.now_ns + tree_read_pss(&w->tree) * PSS_SHARE;
    w->result->pss_rounds++;
}

static bool read_residence(struct watcher *w)
{
    struct residence_stack stacks[RESIDED_THREADS];
    struct tree *t = &w->tree;

    t->residence = (struct residence){0};
    for (int i = 0; i < t->live_count; i++) {
        int pid = t->live[i].proc.pid;

        if (!t->live[i].zombie &&
            !residence_add(&t->residence, pid, &t->live[i].now, stacks,
                           collect_stacks(w->o->collect, pid, stacks, RESIDED_THREADS)))
            return false;
    }
    return true;
}

/* And by large blocks and mappings, whose pages are looked at. */
static void read_blocks(struct watcher *w)
{
    const struct tree *t = &w->tree;

    for (int i = 0; i < t->live_count; i++)
        if (!t->live[i].zombie)
            collect_resident(w->o->collect, t->live[i].proc.pid, t->now_ns);
}

/* Rationed like proportional sizes, by what it costs even on a busy machine. */
static bool may_look_what_resides(const struct watcher *w)
{
    uint64_t since = w->tree.now_ns - w->resided_ns, cost = w->resided_cost_ns;

    if (w->tree.rss > w->resided_rss + w->resided_rss / RESIDED_GROWTH)
        return since >= cost * GROWN_SHARE;
    return since >= cost * RESIDED_SHARE && since >= CLOCK_SECOND_NS;
}

/* What is resident where. */
static void look_what_resides(struct watcher *w)
{
    struct tree *t = &w->tree;
    uint64_t began;

    t->resided = false;
    if (!w->o->collect || !collect_has_heap(w->o->collect) || t->alive > RESIDED_PROCESSES)
        return;
    if (!may_look_what_resides(w))
        return;
    began = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    t->resided = read_residence(w);
    read_blocks(w);
    if (t->rss > w->resided_rss)
        w->resided_rss = t->rss;
    w->resided_ns = t->now_ns;
    w->resided_cost_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - began;
}

/* Whether it was due: readings that endings ask for in between are of processes, not of the
 * machine. */
static bool read_machine(struct watcher *w)
{
    bool recording = w->recorder.store != NULL;

    w->sample.count = 0;
    if (w->tree.now_ns < w->machine_ns)
        return false;
    machine_read(&w->machine, recording, &w->sample);
    if (w->sample.used != ABSENT)
        watch_range_add(&w->result->host, w->sample.used);
    w->machine_ns = w->tree.now_ns + (recording ? w->o->interval_ns / 2 : MACHINE_NS);
    return true;
}

static void take_sample(struct watcher *w)
{
    struct tree *t = &w->tree;
    bool machine;

    watcher_read(w, watcher_mono());
    if (w->ends.records.fd >= 0)
        ends_drain(&w->ends, t);
    tree_settle(t);
    w->last_ns = t->now_ns;
    if (!t->alive)
        return;
    if (w->result->samples++ == 1)
        w->result->rss = (struct watch_range){0}; /* the first one may have met the loader */
    watch_range_add(&w->result->rss, t->rss);
    read_pss(w);
    look_what_resides(w);
    machine = read_machine(w);
    keep_point(w);
    recorder_tick(&w->recorder, t, machine ? &w->sample : NULL);
    gauged_tick(&w->gauged);
    if (w->o->on_tick)
        show(w);
    if (w->o->threshold != ABSENT)
        check_threshold(w);
}

/* What can wait until the command has shown that it lives for more than a moment. */
static void settle_in(struct watcher *w)
{
    w->settled = true;
    limits_raise();
    gauged_begin(&w->gauged);
    w->oom_before = machine_oom_kills(&w->machine);
}

static void read_once(struct watcher *w)
{
    int ours[2] = {getpid(), w->root};

    if (!w->grouped)
        group_open(&w->group, ours);
    w->grouped = true;
    take_sample(w);
    w->tick_ns = watcher_mono() - w->last_ns;
    w->spent_ns += w->tick_ns;
}

void tick(struct watcher *w)
{
    if (!w->settled)
        settle_in(w);
    read_once(w);
}

void tick_at_ending(struct watcher *w)
{
    uint64_t share = w->traced ? STOP_SHARE : EVENT_SHARE;

    if (!w->done && watcher_mono() - w->last_ns > w->tick_ns * share)
        read_once(w); /* to look for devices now would be for nothing if this was the command */
}
