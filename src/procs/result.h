/* result - what a watched command used: the numbers of `tidemark run`, as data.
 *
 * The watcher fills it, the report writes it; neither computes what the other should.
 */
#ifndef WATCH_RESULT_H
#define WATCH_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ABSENT UINT64_MAX /* a number that is not known; never written as 0 */

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
    char peak_basis[200]; /* one sentence: what the peak rests on */
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
    const struct watch_point *points; /* kept only when asked for */
    size_t point_count;
};

#endif
