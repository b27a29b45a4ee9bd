/* recorder - what the watcher sees, as records of a trace. */
#ifndef WATCH_RECORDER_H
#define WATCH_RECORDER_H

#include "base/redact.h"
#include "platform/platform.h"
#include "procs/tree.h"
#include "trace/store.h"
#include "watch/coverage.h"
#include "watch/probing.h"

struct recorder {
    struct trace_store *store; /* NULL: nothing is recorded */
    struct collect *collect;   /* NULL: nobody records itself */
    bool cover;                /* say which processes do not record themselves */
    struct coverage coverage;
    struct probing probing;
    struct collect_account account;          /* of the programs that were started */
    enum redact redact;                      /* what is left out of command lines */
    void (*on_process)(void *seer, int pid); /* NULL: nobody asks */
    void *seer;
    const struct group *group; /* whose kills for lack of memory are counted; NULL: none are */
    uint64_t kills;            /* of them, those whose process is known */
    uint64_t processes;        /* how many numbers were given */
    uint64_t flushed_ns;
};

/* To be put into tree.events, with the recorder as its context. */
extern const struct tree_events recorder_events;

/* Which processes are watched that ran already. */
void recorder_pids(struct recorder *r, const int *pids, size_t count);
/* What is known before the start: the command, of `pid` where there is no argv, and the machine. */
void recorder_begin(struct recorder *r, char *const *argv, int pid, uint64_t interval_ns,
                    const char *method);
void recorder_fact(struct recorder *r, const char *key, const char *text);

/* A process that is about to be waited for. */
void recorder_ending(struct recorder *r, int pid);

/* One tick: every living process, the tree, the machine; NULL: that one was looked at just now. */
void recorder_tick(struct recorder *r, const struct tree *t, const struct machine_sample *m);

void recorder_alert(struct recorder *r, const struct tree *t, const struct watch_alert *a);
void recorder_loss(struct recorder *r, uint64_t count, const char *reason);

/* The totals of a run that has ended, and what still runs. */
void recorder_end(struct recorder *r, const struct tree *t, const struct watch_result *result,
                  const char *outcome);

#endif
