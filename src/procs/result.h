/* result - what a watched command used: the numbers of `tidemark run`, as data.
 *
 * The watcher fills it, the report writes it; neither computes what the other should.
 */
#ifndef PROCS_RESULT_H
#define PROCS_RESULT_H

#include "base/absent.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct watch_process {
    int pid;
    int parent;  /* index in the result's processes, -1: none */
    int process; /* its number in the trace, from 1 */
    int before;  /* that of before its last exec, as long as it may still record itself; 0: none */
    char name[32];
    uint64_t start_ticks;
    uint64_t peak_rss, peak_vsz; /* bytes; ABSENT: never seen alive, nothing known */
    uint64_t peak_real_ns;       /* when that peak was read */
    uint64_t image_rss;          /* the same since its last exec */
    bool more;                   /* it may have grown after it was last read, unseen */
    uint64_t born_ns, died_ns;   /* CLOCK_MONOTONIC; died ABSENT: still runs */
};

struct watch_point { /* one moment of the whole tree */
    uint64_t real_ns, rss, vsz;
};

struct watch_range { /* least, greatest and average of what was sampled */
    uint64_t least, most, count;
    double sum;
};

static inline void watch_range_add(struct watch_range *r, uint64_t value)
{
    if (!r->count || value < r->least)
        r->least = value;
    if (value > r->most)
        r->most = value;
    r->sum += (double)value;
    r->count++;
}

struct watch_device { /* an accelerator; what is not known has a range of no values, or is ABSENT */
    char label[40], name[64], id[64], bus[32], way[64], note[160];
    const char *vendor;
    int cuda;       /* its number among those that CUDA shows; below 0: not known, or hidden */
    bool hidden;    /* CUDA does not show it to the command */
    bool named;     /* somebody asked for it by name */
    uint64_t total; /* bytes */
    struct watch_range used, reserved; /* by everybody */
    struct watch_range ours;           /* by the watched processes */
    struct watch_range rest;           /* used without ours, at the same moment */
    struct watch_range busy;           /* thousandths of its time */
};

struct watch_device_use { /* by one process */
    size_t device;        /* in the result's devices */
    int pid;
    char name[32];
    uint64_t shared; /* at most, of the memory that it uses; ABSENT */
    struct watch_range used, busy;
};

struct watch_alert {
    uint64_t elapsed_ns, limit, total;
    int processes;
    int pid; /* the largest of them */
    uint64_t rss;
    char name[32];
    bool between; /* the crossing fell between two samples and was seen afterwards */
};

struct watch_top {
    const char *name;
    int pid;
    uint64_t rss;
};

struct watch_view { /* the state at one tick, for a live display */
    uint64_t elapsed_ns, rss, vsz, peak_rss, peak_vsz;
    int processes;
    struct watch_top top[3]; /* largest first; name NULL: no more */
};

struct watch_result {
    const char *command; /* the words, joined by one space */
    int main_pid;
    uint64_t start_real_ns, end_real_ns, duration_ns;
    bool ended;      /* false: a watched process still runs, or its status is not ours to know */
    int exit_code;   /* -1: killed by a signal, or not known */
    int signal;      /* 0: none */
    bool oom_killed; /* the kernel killed it for lack of memory */
    bool children;   /* the whole tree was watched, not the main process alone */

    uint64_t peak_lower, peak_upper; /* of the tree's memory at one moment; upper may be ABSENT */
    bool peak_exact;
    bool peak_at_most;    /* too small and too short-lived to tell from its launcher */
    char peak_basis[256]; /* one sentence: what the peak rests on */
    const char *method;   /* sampled, taskstats, ptrace */
    uint64_t peak_vsz;    /* ABSENT: it ended before it could be read */
    uint64_t peak_pss;    /* ABSENT unless asked for */
    uint64_t pss_rounds;
    struct watch_range rss;  /* of the tree, per sample */
    struct watch_range host; /* memory used on the whole machine */
    uint64_t samples;
    uint64_t sample_cost_ns; /* of one tick, on average */
    uint64_t interval_ns;

    uint64_t user_ns, system_ns, minor_faults, major_faults;
    uint64_t cgroup_peak; /* ABSENT: the command had no control group of its own */
    int outlived;         /* processes of the tree that still ran when the command ended */

    bool threshold_exceeded;
    const struct watch_alert *alerts;
    size_t alert_count;

    const struct watch_process *processes; /* every one that was seen, parents first */
    size_t process_count;
    const struct watch_device *devices;
    size_t device_count;
    const struct watch_device_use *device_uses;
    size_t device_use_count;
    const char *const *device_notes; /* why one is not there, or no longer read: sentences */
    size_t device_note_count;
    bool devices_asked; /* for some by name, or for all of them */
    bool devices_read;  /* one that is there was read at least once */

    uint64_t tensors_from; /* a recorded process has loaded this framework of deep learning, and
                              every block of so many bytes and more was recorded; 0: none has */
    char framework[64];
    uint64_t windows, steps; /* how many windows began; the most steps that a process has told */
    uint32_t watched;        /* of the names that were to be watched: a bit for each that was met */

    const struct watch_point *points; /* kept only when asked for */
    size_t point_count;
};

#endif
