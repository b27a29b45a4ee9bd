/* gauged - what devices hold while a command runs: asked at every tick, heard when it comes, kept
 * as ranges for the report and as samples for the trace. A device that does not answer holds
 * nothing up.
 */
#ifndef WATCH_GAUGED_H
#define WATCH_GAUGED_H

#include "base/arena.h"
#include "base/intmap.h"
#include "devices/devices.h"
#include "procs/result.h"
#include "procs/tree.h"
#include "trace/store.h"

#include <poll.h>

#define GAUGED_DESCRIPTORS DEVICE_KIND_COUNT

struct gauged {
    const struct device_choice *choice; /* NULL: none is read */
    struct tree *tree;
    struct trace_store *store; /* NULL: nothing is recorded */
    struct devices *devices;   /* NULL: not begun, or there is none */
    bool begun, read;
    struct watch_device *list;
    size_t count, room;
    struct watch_device_use *uses;
    size_t use_count, use_room;
    struct intmap use_of; /* device << 32 | pid -> its place */
    int32_t *pids;
    size_t pid_room;
};

void gauged_prepare(struct gauged *g, const struct device_choice *choice, struct tree *tree,
                    struct trace_store *store);
/* Those that somebody asked for are there before the command is, or will not be; `woken` ends the
 * wait. */
void gauged_wait(struct gauged *g, int woken);
/* All others begin while it runs. */
void gauged_begin(struct gauged *g);

int gauged_descriptors(const struct gauged *g, struct pollfd *out);
void gauged_hear(struct gauged *g, uint64_t now_ns);
void gauged_tick(struct gauged *g);
/* A child of ours has ended: was it one that reads devices? */
bool gauged_ended(struct gauged *g, int pid);

/* Also says in the trace what was missing. */
void gauged_stop(struct gauged *g, uint64_t now_ns);
void gauged_result(const struct gauged *g, struct watch_result *r, struct arena *arena);
void gauged_free(struct gauged *g);

#endif
