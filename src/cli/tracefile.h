/* tracefile - which file a recording is written to, and what is done when there can be none.
 *
 * A recorder never ends a job: where the machine, not what was asked for, is in the way, the
 * command runs all the same.
 */
#ifndef CLI_TRACEFILE_H
#define CLI_TRACEFILE_H

#include "base/arena.h"
#include "base/err.h"
#include "trace/store.h"

#include <stdbool.h>

struct tracefile {
    const char *named; /* what the user asked for, or NULL */
    const char *plain; /* what nobody asked for, where named is NULL */
    bool force;        /* what `named` holds already may go */
    /* what became of it */
    const char *path;
    bool state; /* after a failure: it is the machine that is in the way */
};

/* Create the trace. A file that is there keeps its name, and the next free one is taken (x.tide,
 * x.2.tide ...) and said: no trace is overwritten in silence, and no job ends because of its
 * recorder. Pipes, devices and empty files are written to. NULL with *err; its code is EXIT_OWN.
 */
struct trace_store *tracefile_create(struct arena *a, struct tracefile *f, struct err *err);

/* NAME.PID.tide in this folder; a path counts by its last part. */
const char *tracefile_default(struct arena *a, const char *name, int pid);

#endif
