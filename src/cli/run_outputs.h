/* run_outputs - where what is known of a run goes: the report, the timeline, the trace, alerts, the
 * live view. All are opened before the command starts, so that a mistake shows then.
 */
#ifndef CLI_RUN_OUTPUTS_H
#define CLI_RUN_OUTPUTS_H

#include "base/arena.h"
#include "base/emit.h"
#include "base/err.h"
#include "procs/result.h"
#include "report/live.h"
#include "trace/store.h"

#include <stdio.h>

struct run_outputs {
    /* set by the caller */
    const char *path;                   /* of the report; NULL or "-": standard output, */
    uint64_t descriptor;                /* unless this is not ABSENT */
    const char *timeline_path, *record; /* files, or NULL */
    bool force;                         /* the trace may replace a file */
    const char *units;                  /* of sizes; NULL: what fits */

    FILE *report;
    FILE *timeline;
    struct emit points; /* the timeline as JSON */
    bool timeline_csv;
    uint64_t flushed_ns;
    struct trace_store *store;
    struct live live;
};

int run_outputs_open(struct run_outputs *o, struct arena *a, struct err *err);
int run_outputs_close_timeline(struct run_outputs *o, struct err *err);

/* For the hooks of struct watch_options, with the outputs as their context. */
void run_outputs_point(void *context, const struct watch_point *p);
void run_outputs_alert(void *context, const struct watch_alert *a);
void run_outputs_tick(void *context, const struct watch_view *v);
void run_outputs_pause(void *context, bool paused);

#endif
