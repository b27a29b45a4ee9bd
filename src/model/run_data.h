/* run - a recording of `tidemark run`, read in one pass: its processes, and the state of the tree
 * and of the machine at every tick.
 *
 * Nothing is kept per sample. While it reads, `struct run` is the state at that moment, and the
 * caller's function is called once per tick; afterwards it is the state at the end. So memory grows
 * with the number of processes, and that number has a limit too.
 *
 * A tick is a sample of the whole run that has its resident memory. It is handed out when the
 * first later event or the end of a process arrives, so every sample with the same time belongs
 * to it, in any order.
 */
#ifndef ANALYZE_RUN_H
#define ANALYZE_RUN_H

#include "analyze/metrics.h"
#include "analyze/names.h"
#include "analyze/unrecorded.h"
#include "base/arena.h"
#include "base/err.h"
#include "trace/read.h"

struct run_process {
    uint64_t number; /* in the trace */
    uint64_t pid, start_ticks, born;
    uint64_t from_ns, to_ns; /* since the clock origin; to_ns only when it has ended */
    bool ended;
    uint64_t end, status;       /* enum trace_end */
    const char *name, *command; /* may be NULL */
    struct run_process *parent, *first_child, *last_child, *sibling;
    bool older;                   /* it ran before the recording began */
    const struct metrics *before; /* counters up to exec(2), or to when it was found; or NULL */
    struct metrics now;           /* counters stay after its end */
    struct metrics most;          /* the largest ever seen */
    const char *unrecorded; /* why nothing was recorded from inside; NULL: it was, or not asked */
    bool recorded;          /* from inside: it had a thread there */
    size_t place;           /* in run.processes */
    int depth;              /* in the tree */
    bool shown;             /* for the caller */
};

struct run_alert {
    uint64_t time_ns, metric, limit, value;
    const struct run_process *process; /* may be NULL */
    const char *text;
};

struct run_loss {
    uint64_t time_ns, count, bytes;
    bool has_count, has_bytes;
    const struct run_process *process; /* may be NULL */
    const char *reason;
};

struct run_device {
    uint64_t number;
    const char *name, *vendor;
    struct metrics most;
};

struct run {
    const struct trace_header *header; /* the trace's */
    struct names names;

    struct run_process **processes; /* in the order in which they came to be */
    size_t process_count;
    uint64_t left_out;         /* processes above the limit of this reader */
    struct run_process *roots; /* the first without a parent; the others are its siblings */

    struct metrics sum;     /* of the tree: gauges of the living, counters of all that ever lived */
    struct metrics before;  /* the part of those counters from before the recording */
    struct metrics sum_mib; /* the same with every process rounded down to whole MiB first */
    struct metrics tree;    /* what the recorder summed itself, at the last tick */
    struct metrics final;   /* and at the end: the peaks with their bounds, totals, exit status */
    struct metrics machine, machine_first, cgroup;

    uint64_t ticks, last_ns;
    bool percent_known, machine_percent_known; /* of the tick being handed out */
    double percent;                            /* of one CPU, since the tick before */
    double machine_percent;                    /* of all CPUs, since the tick before */

    struct run_alert *alerts; /* the first RUN_EVENTS_MOST of them */
    struct run_loss *losses;
    uint64_t alert_count, loss_count;
    struct run_device **devices;
    size_t device_count;

    bool exact, sampled;          /* allocations of these sorts are in it */
    uint64_t pauses, paused_ns;   /* how often no new allocations were recorded, and for how long */
    struct unrecorded unrecorded; /* after the pass, each process has its own */
    struct unrecorded unread;     /* Python that is not read */
    const char *health;           /* what the trace lacks, in one line; NULL: nothing */
    struct run_state *state;
};

#define RUN_EVENTS_MOST 1000

typedef void run_tick(const struct run *r, uint64_t time_ns, void *context);

/* Read the whole trace into *r, which lives in `arena` and refers to `t`. `tick` may be NULL.
 * A trace that lacks something is no error: r->health says what.
 */
void run_read(struct run *r, struct arena *arena, struct trace *t, run_tick *tick, void *context);

/* Of the tree now: what the recorder summed, else the sum over the processes. */
bool run_tree(const struct run *r, enum trace_metric metric, uint64_t *value);
/* At the end: the recorder's own total, else the sum over the processes during the recording. */
bool run_total(const struct run *r, enum trace_metric metric, uint64_t *value);
/* What the recorder measured; else from the first process to the end of the last, or to where the
 * trace ends if one still ran.
 */
uint64_t run_duration(const struct run *r);
/* What a process has used of a counter in this incarnation and during the recording. */
bool run_own(const struct run_process *p, enum trace_metric metric, uint64_t *value);

#endif
