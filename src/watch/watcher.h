/* watcher - the state of one watch, shared by the files that make up the loop: watch.c (the loop
 * itself), start.c (what is watched), tick.c (one reading), endings.c (who ended), told.c (what we
 * are told), parting.c (who is left), outcome.c (the result).
 */
#ifndef WATCH_WATCHER_H
#define WATCH_WATCHER_H

#include "procs/ends.h"
#include "procs/tree.h"
#include "watch/gauged.h"
#include "watch/recorder.h"
#include "watch/watch.h"

#include <signal.h>

#define ALERTS_MOST 64

struct watcher {
    const struct watch_options *o;
    struct watch_result *result;
    struct tree tree;
    struct machine machine;
    struct machine_sample sample;
    struct group group;
    struct recorder recorder;
    struct ends ends;
    struct gauged gauged;
    struct watch_alert alerts[ALERTS_MOST];
    struct watch_point *points;
    size_t point_room;
    bool traced;
    int signals; /* descriptor */
    int control; /* the same, for those who tell us what to do; -1: none */
    int root;    /* pid of the command; 0: we watch others' processes */
    int status;  /* wait status of the root */
    bool settled, grouped, done, above, stopping;
    bool ignored_children; /* SIGCHLD was ignored when we began */
    sigset_t mask;         /* and these were blocked */
    int passed_on;         /* the last signal that we handed to the command */
    uint64_t begun_ns;     /* all is set up: from when a duration counts */
    uint64_t started_ns, next_ns, machine_ns, pss_ns, pss_rss, kill_ns, last_ns;
    uint64_t snapshots_told, snapshots_seen, snapshot_ns; /* by the control socket; in all; when */
    uint64_t resided_rss, resided_ns, resided_cost_ns; /* when it was last told what is resident */
    uint64_t drain_ns;                                 /* when the collector wants to look again */
    uint64_t unheard_ns;        /* until when exit records that arrive can wait */
    uint64_t late;              /* ticks that could not be taken in time */
    uint64_t tick_ns, spent_ns; /* what the last tick cost, and all of them */
    uint64_t oom_before;
};

uint64_t watcher_mono(void);
uint64_t watcher_real(void);
/* Read the tree, after those who record themselves have been numbered. */
void watcher_read(struct watcher *w, uint64_t mono_ns);

/* Read everything once, account it, tell whoever wants to know. */
void tick(struct watcher *w);
/* Something ends: the same at this very moment, as far as the time for it reaches. */
void tick_at_ending(struct watcher *w);
/* The threshold was crossed; `between`: seen only afterwards. */
void tick_alert(struct watcher *w, uint64_t total, bool between);

/* start.c: launch the command; or take the processes that were named. */
int start_command(struct watcher *w, struct err *err);
int start_found(struct watcher *w, struct err *err);

/* endings.c: take all that can be waited for, and what the kernel tells of others. */
void endings_take(struct watcher *w);

/* told.c: what waits on the descriptors of signals and of the control socket. */
void told_signals(struct watcher *w);
void told_words(struct watcher *w);

/* parting.c, in this order when the loop is over: processes that were there before us go on without
 * us;
 */
void parting_leave(struct watcher *w);
/* what has to end with the command is ended; */
void parting_sweep(struct watcher *w);
/* what outlives the command, and what ends with it: orphans that are about to be ours to wait for.
 */
void parting_endings(struct watcher *w, uint64_t ended_ns);

/* Fill the result from all that was seen. */
void outcome(struct watcher *w, uint64_t ended_ns, struct arena *arena);

/* looks.c: a moment that is of interest, NULL: but has no name; its time in the trace. Without
 * --reachable nobody is stopped.
 */
uint64_t looks_take(struct watcher *w, const char *name);

#endif
