/* watcher - the state of one watch, shared by the files that make up the loop: watch.c (start, end,
 * signals), tick.c (one reading), outcome.c (the result).
 */
#ifndef WATCH_WATCHER_H
#define WATCH_WATCHER_H

#include "watch/cgroup.h"
#include "watch/machine.h"
#include "watch/recorder.h"
#include "watch/taskstats.h"
#include "watch/tree.h"
#include "watch/watch.h"

#define SECOND_NS 1000000000u
#define ALERTS_MOST 64

struct watcher {
    const struct watch_options *o;
    struct watch_result *result;
    struct tree tree;
    struct machine machine;
    struct machine_sample sample;
    struct cgroup cgroup;
    struct recorder recorder;
    struct taskstats_reader records;
    struct watch_alert alerts[ALERTS_MOST];
    struct watch_point *points;
    size_t point_room;
    bool traced;
    int signals; /* descriptor */
    int control; /* the same, for those who tell us what to do; -1: none */
    int root;    /* pid of the command; 0: we watch others' processes */
    int status;  /* wait status of the root */
    bool settled, done, above, stopping;
    bool ignored_children; /* SIGCHLD was ignored when we began */
    int passed_on;         /* the last signal that we handed to the command */
    uint64_t started_ns, next_ns, machine_ns, pss_ns, pss_rss, kill_ns, last_ns;
    uint64_t resided_rss, resided_ns, resided_cost_ns; /* when it was last told what is resident */
    uint64_t drain_ns;                                 /* when the collector wants to look again */
    uint64_t late;                                     /* ticks that could not be taken in time */
    uint64_t tick_ns, spent_ns; /* what the last tick cost, and all of them */
    uint64_t oom_before;
};

uint64_t watcher_mono(void);
uint64_t watcher_real(void);
/* Read the tree, after those who record themselves have been numbered. */
void watcher_read(struct watcher *w, uint64_t mono_ns);
void watcher_range(struct watch_range *r, uint64_t value);

/* Read everything once, account it, tell whoever wants to know. */
void tick(struct watcher *w);
/* Something ends: the same at this very moment, as far as the time for it reaches. */
void tick_at_ending(struct watcher *w);
/* The threshold was crossed; `between`: seen only afterwards. */
void tick_alert(struct watcher *w, uint64_t total, bool between);

/* Fill the result from all that was seen. */
void outcome(struct watcher *w, uint64_t ended_ns, struct arena *arena);

#endif
