/* run_data - what is known of a run while it is read, and afterwards: see run.h. */
#ifndef MODEL_RUN_DATA_H
#define MODEL_RUN_DATA_H

#include "model/exact_since.h"
#include "model/lacking.h"
#include "model/metrics.h"
#include "model/names.h"
#include "model/ranks.h"
#include "model/unrecorded.h"
#include "trace/read.h"

#define RUN_EVENTS_MOST 1000

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
    struct lacking lacking; /* of what it did */
    const struct exact_since
        *since; /* NULL: it has loaded no framework, or another way was asked for */
    struct rank_known ranks[RANK_NUMBERS]; /* of a distributed program */
    size_t place;                          /* in run.processes */
    int depth;                             /* in the tree */
    bool shown;                            /* for the caller */
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

struct run_range { /* of what was read; count 0: it never was */
    uint64_t least, most, count;
    double sum;
};

struct run_device {
    uint64_t number;
    const char *name, *vendor, *id, *label, *way, *note, *space, *bus; /* may be NULL */
    struct metrics now, most;
    uint64_t readings; /* so far: whoever listens to ticks sees by it what is new */
    struct run_range used, reserved, busy;
    struct run_range ours, rest; /* of used: by the recorded processes, and by all others */
};

struct run_device_use { /* by one process */
    const struct run_device *device;
    const struct run_process *process;
    struct run_range used, busy;
    uint64_t shared; /* the most; UINT64_MAX: not known */
};

struct run {
    const struct trace_header *header; /* the trace's */
    struct names *names;               /* its facts, with the strings of the trace */
    struct names own;

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
    uint64_t torn; /* stacks without their Python lines: every sum has them */
    uint64_t late; /* looks at the processes that were left out: others came later than asked for */
    struct run_device **devices;
    size_t device_count;
    struct run_device_use **uses;
    size_t use_count, use_room;

    bool of_space;                   /* allocations are those of another space than the host's */
    bool exact, sampled;             /* allocations of these kinds are in it */
    struct lacking lacking;          /* what numbers of allocations may lack */
    uint64_t whole_from, whole_most; /* blocks of so many bytes and more were each recorded, at the
                                        worst of so many; 0: that was not asked for */
    struct exact_since since;        /* of the processes that have one */
    uint64_t windows;                /* how often one began in which blocks have their stacks */
    uint64_t pauses, paused_ns;   /* how often no new allocations were recorded, and for how long */
    struct unrecorded unrecorded; /* after the pass, each process has its own */
    struct unrecorded unread;     /* Python that is not read */
    struct ranks ranks;           /* the same of ranks, */
    bool ranked;                  /* and there are any */
    const char *pythons; /* versions of interpreters, "3.9.18, 3.11.2"; NULL: there are none */
    const char *health;  /* what the trace lacks, in one line; NULL: nothing */
    struct run_state *state;
};

#endif
