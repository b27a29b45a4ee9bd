/* watch - run a command (or look at processes that already run), sample it until it ends, and say
 * what it used. Prints nothing: what happens on the way is told through the hooks.
 */
#ifndef WATCH_WATCH_H
#define WATCH_WATCH_H

#include "base/arena.h"
#include "base/err.h"
#include "base/redact.h"
#include "procs/result.h"
#include "trace/store.h"

struct collect;
struct device_choice;

struct watch_options {
    char *const *argv; /* the command; NULL: watch `pids` */
    const int *pids;
    size_t pid_count;
    const char *command; /* how the command is called in reports */
    uint64_t interval_ns;
    bool children, exact, pss, mute;
    const struct device_choice *devices; /* that are read besides; NULL: none is */
    bool keep_points;                    /* keep every sample of the tree in the result */
    uint64_t threshold;                  /* ABSENT: none */
    bool kill_at_threshold;              /* end the whole tree when it is crossed */
    char *const *environment;            /* of the command; NULL: ours */
    struct collect *collect; /* drained while it runs, and finished; NULL: nothing records itself */
    const char *library;     /* to be brought into `pids`, which `collect` is to record */
    bool self_loading;       /* they do that themselves */
    uint64_t duration_ns;    /* end after so long; 0: when all have ended */
    struct trace_store *store;               /* NULL: not recorded; closed by the caller */
    enum redact redact;                      /* what is left out of the command lines in it */
    void (*on_process)(void *seer, int pid); /* of each recorded one, while it is there; or NULL */
    void *seer;

    void *context;
    void (*on_deaf)(void *context, int error); /* nobody can tell us what to do; or NULL */
    void (*on_confined)(void *context);        /* CPU time of `pids` cannot be sampled; or NULL */
    /* It was looked for what points to its blocks; `why` not, or NULL. NULL: nobody asks */
    void (*on_looked)(void *context, int pid, uint64_t stood_ns, const char *why);
    void (*on_begun)(void *context); /* what was to be started has been; or NULL */
    void (*on_tick)(void *context, const struct watch_view *v);   /* NULL: nobody looks */
    void (*on_point)(void *context, const struct watch_point *p); /* NULL: likewise */
    void (*on_alert)(void *context, const struct watch_alert *a); /* NULL: likewise */
    void (*on_pause)(void *context, bool paused);                 /* job control; or NULL */
};

/* 0: *result is filled; its arrays live in the arena. -1 with *err when nothing could be started
 * (code 126 or 127 for the command's own failure to start, else 125).
 */
int watch(const struct watch_options *o, struct arena *arena, struct watch_result *result,
          struct err *err);

#endif
