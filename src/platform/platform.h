/* platform - what `tidemark run` needs of the operating system, and all that it needs: processes,
 * the machine, what a container allows, how a process ended, and a few things about ourselves.
 *
 * Behind it is one set of files per system (linux_*.c); src/meson.build names the set. Nothing
 * above reads a file of the kernel's or calls what only one system has: tools/check_layers says so.
 * A value that a system does not tell is ABSENT, and a whole part that it lacks may say so for
 * ever: `run` then shows n/a, never a guess.
 */
#ifndef PLATFORM_PLATFORM_H
#define PLATFORM_PLATFORM_H

#include "base/absent.h"
#include "base/err.h"
#include "trace/write.h" /* struct trace_pair */

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

extern const char platform_name[]; /* as reports tell it: "linux" */

/* ---- one process ---- */

struct proc_kept;

struct proc {
    int pid;
    struct proc_kept *kept; /* what the system's files keep between readings; NULL: nothing */
};

/* One reading. ABSENT where the system does not say (or does not tell us). Sizes are bytes, ticks
 * are those of sysconf(_SC_CLK_TCK).
 */
struct proc_reading {
    char name[32];
    char state; /* 'Z': it has ended and nobody has waited for it; 'X': it is about to be gone */
    int ppid, tgid; /* tgid: the process that a thread belongs to; from proc_read_status */
    uint64_t minor_faults, major_faults, child_minor_faults;
    uint64_t user_ticks, system_ticks, threads, start_ticks;
    uint64_t image; /* changes with every exec; 0 where the process is not ours to inspect */
    uint64_t rss, rss_peak, vsz, vsz_peak, swap, rss_anon, rss_file, rss_shmem;
    uint64_t waited, forced; /* context switches of all threads that were seen */
    uint64_t cpu_ns;
    uint64_t pss;
    bool ending;           /* it is past its last instruction, whatever its state still says */
    bool ignores_children; /* SIGCHLD: its children leave no rusage; told of a zombie, too */
};

/* Open what is kept of a process. `keep` false, or few descriptors left: keep nothing, ask anew for
 * each reading; then proc_close need not follow unless proc_children was called. -1: gone.
 */
int proc_open(struct proc *p, int pid, bool keep);
void proc_close(struct proc *p);

/* Would another process that gets the same pid be taken for this one? */
bool proc_may_be_another(const struct proc *p);

/* What is cheap: who it is, faults, CPU time, vsz. 0, or -1 when the process is gone. A zombie
 * still reads. Where no descriptor is left to ask with, it is taken to be as it was.
 */
int proc_read_stat(struct proc *p, struct proc_reading *r);
/* Sizes and marks. They stay ABSENT for a zombie or a thread of the kernel. */
int proc_read_status(struct proc *p, struct proc_reading *r);
/* Have its sizes stayed the same, to the page, since this was last asked? False: not known. */
bool proc_is_still(struct proc *p);
/* CPU time to the nanosecond and context switches: the details of a time series. */
void proc_read_details(struct proc *p, struct proc_reading *r);
/* Proportional size: may take long, and hold the target up. */
void proc_read_pss(struct proc *p, struct proc_reading *r);

/* Call visit(pid) for every child of every thread. */
void proc_children(struct proc *p, uint64_t threads, void (*visit)(int pid, void *context),
                   void *context);
bool proc_has_children_lists(void); /* false: proc_all must be asked instead */
/* The same for every process of the machine. */
void proc_all(void (*visit)(int pid, void *context), void *context);

/* The command line with NULs between the words; returns its length, 0 when there is none. */
size_t proc_command(int pid, char *out, size_t room);
/* The path of the file that it runs; "": not known. */
void proc_file(int pid, char *out, size_t room);

/* The high-water mark that wait4 brings, in bytes: each system counts it in units of its own. */
uint64_t proc_most_resident(const struct rusage *usage);

/* A thread of the kernel: it has no memory of its own. */
bool proc_is_kernel(int pid);

/* A number that grows by at least one with every process or thread made here; 0: not known. */
uint64_t proc_newest(void);

/* ---- what its resident memory consists of ---- */

struct residence {   /* bytes */
    uint64_t heap;   /* the kernel's [heap] */
    uint64_t stack;  /* of the process and of the threads that are known */
    uint64_t data;   /* private pages of writable mapped files, and the bss that follows them */
    uint64_t file;   /* pages of mapped files */
    uint64_t shared; /* shared memory */
    uint64_t anon;   /* all other */
};

struct residence_stack { /* of a thread */
    uint64_t low, bytes;
};

/* Add those of a process to *sum; `now` was just read. False: it is gone, not ours to read, or has
 * too much to look at; then *sum is of no use.
 */
bool residence_add(struct residence *sum, int pid, const struct proc_reading *now,
                   const struct residence_stack *stacks, size_t count);

struct residence_range {
    uint64_t start, bytes; /* addresses */
    uint64_t resident;
    bool known; /* resident is; else there were too many pages to look at */
};

/* What is resident of some memory of a process, by its pages. False: it is gone, or not ours to
 * read. */
bool residence_ranges(int pid, struct residence_range *ranges, size_t count);

/* ---- the machine ---- */

#define MACHINE_METRICS 16

struct machine_kept;

struct machine {
    struct machine_kept *kept; /* NULL: not asked yet */
};

struct machine_sample {
    struct trace_pair pairs[MACHINE_METRICS];
    size_t count;
    uint64_t used; /* memory used by everybody, without caches; ABSENT: not known */
};

/* `details` false: memory alone (cheap); true: CPU and disks too. */
void machine_read(struct machine *m, bool details, struct machine_sample *out);

/* How often the kernel has killed for lack of memory since boot; ABSENT: it does not say. */
uint64_t machine_oom_kills(struct machine *m);

void machine_close(struct machine *m);

/* ---- the group that the command runs in, as containers are: reads only, changes nothing ---- */

struct group_kept;

struct group {
    struct group_kept *kept; /* NULL: none */
};

/* `pids` are the only ones (two, ourselves and the command) that may be in it for its peak to be
 * the command's.
 */
void group_open(struct group *g, const int pids[2]);
uint64_t group_peak(const struct group *g);  /* bytes; ABSENT: not known */
uint64_t group_kills(const struct group *g); /* for lack of memory, since it was opened; ABSENT */
void group_close(struct group *g);

/* ---- ends that are told exactly (run --exact), in one of two ways ---- */

/* What a process has used itself, all its threads together; ABSENT where it is not known. */
struct proc_usage {
    uint64_t cpu_ns, user_ns, system_ns;
    uint64_t minor_faults, major_faults;
    uint64_t waited, forced; /* context switches */
};

#define PROC_USAGE_UNKNOWN                                                                         \
    ((struct proc_usage){ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT})

/* CPU time of which no more than the split is rough: the kernel sees at its ticks alone whether a
 * thread is in user or in system code.
 */
static inline void proc_usage_split(struct proc_usage *u, uint64_t user, uint64_t system)
{
    double share = user + system ? (double)system / (double)(user + system) : 0;

    u->system_ns = (uint64_t)((double)u->cpu_ns * share);
    u->user_ns = u->cpu_ns - u->system_ns;
}

/* How a process ended, as far as one source knows; ABSENT where it does not. */
struct proc_end {
    int pid, ppid;
    const char *name;                    /* NULL: not known */
    bool waited;                         /* from wait4; otherwise from an exit record */
    uint64_t rss, vsz;                   /* its own final marks */
    uint64_t maxrss;                     /* the largest mark among it and what it waited for */
    uint64_t minor_faults, child_faults; /* of the zombie */
    uint64_t lived_ns;
    struct proc_usage used; /* in the end */
    bool ignored_children;  /* SIGCHLD, in the end: from the zombie */
    bool signaled;          /* how: by a signal, whose number is `status` */
    int status;
};

extern const char records_method[], stops_method[]; /* how reports call the two */

/* The kernel's record of every process at its exit, without a stop and without sampling. */
struct records_part;

struct records {
    int fd;                     /* -1: closed; poll it for reading */
    unsigned int by;            /* what the system's file knows it by */
    struct records_part *parts; /* of processes some of whose threads have ended, not all */
    size_t part_count, part_room;
    bool lost; /* records were: what a process used is not known to be whole any more */
};

/* 0, or -1 with *err when the kernel does not give them to us. */
int records_open(struct records *r, struct err *err);
/* Take what has arrived. False: the kernel had to drop some. */
bool records_drain(struct records *r, void (*take)(const struct proc_end *end, void *context),
                   void *context);
void records_close(struct records *r);

/* Every process stopped for a moment at its birth and at its exit, so that its final mark is read
 * whatever the interval. Begin with one that stands at its gate.
 */
int stops_begin(int pid, struct err *err);

struct stop {
    int pid, status;
    struct rusage usage; /* of one that has ended */
    bool stopped;        /* it goes on with stops_resume; false: it has ended, and was waited for */
    bool at_exit;        /* it is about to end, its memory is still there */
    int child;           /* it has just made this process; 0: none */
    int process;         /* at_exit: the process that it is a thread of, */
    uint64_t rss_peak, vsz_peak; /* and its marks; ABSENT: not known */
};

/* The next stop or ending; false: there is none now. */
bool stops_next(struct stop *s);
void stops_resume(const struct stop *s);

/* ---- ourselves ---- */

/* Make our own memory as small as it gets, since exec hands our high-water mark on to the command
 * here: the last thing before exec, in a child whose memory may be ours (vfork). Returns the most
 * that is handed on, in bytes; 0: nothing is.
 */
uint64_t self_shrink(void);

/* Orphans below us become our children, or no longer. */
void self_adopt(bool on);

/* The path of our executable; false: not known. */
bool self_file(char *out, size_t room);

#define SELF_PATH 32

/* A path by which one of our descriptors is opened anew, to read; false: there is none. */
bool self_descriptor(int fd, char out[SELF_PATH]);

struct signal_told {
    int number, from; /* from: the pid of who sent it; 0: not known */
    bool by_program;  /* kill or the like; not the terminal, nor the kernel */
};

/* Signals, all of which are blocked, are read from a descriptor: -1 with errno. */
int signals_open(void);
/* Up to `most` that have come; how many. */
int signals_read(int fd, struct signal_told *out, int most);

#endif
