/* recorder - what the watcher sees, as records of a trace. */
#ifndef WATCH_RECORDER_H
#define WATCH_RECORDER_H

#include "trace/store.h"
#include "watch/coverage.h"
#include "watch/machine.h"
#include "watch/tree.h"

struct recorder {
    struct trace_store *store; /* NULL: nothing is recorded */
    bool cover;                /* say which processes do not record themselves */
    struct coverage coverage;
    uint64_t processes; /* how many numbers were given */
    uint64_t flushed_ns;
};

/* To be put into tree.events, with the recorder as its context. */
extern const struct tree_events recorder_events;

/* What is known before the start: the command, the machine. */
void recorder_begin(struct recorder *r, char *const *argv, const char *command,
                    uint64_t interval_ns, const char *method);
void recorder_fact(struct recorder *r, const char *key, const char *text);

/* One tick: every living process, the tree, the machine. */
void recorder_tick(struct recorder *r, const struct tree *t, const struct machine_sample *m);

void recorder_alert(struct recorder *r, const struct tree *t, const struct watch_alert *a);
void recorder_loss(struct recorder *r, uint64_t count, const char *reason);

/* The totals of a run that has ended, and what still runs. */
void recorder_end(struct recorder *r, const struct tree *t, const struct watch_result *result,
                  const char *outcome);

#endif
