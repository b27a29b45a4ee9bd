/* procfs - what the kernel says of one process, through descriptors that stay open.
 *
 * A kept descriptor costs a third of opening the file anew, survives exec, and fails with ESRCH once
 * its process is gone, so that a reused pid is never mistaken for it.
 */
#ifndef WATCH_PROCFS_H
#define WATCH_PROCFS_H

#include "watch/result.h" /* ABSENT */

struct proc_thread {
    int tid, children;       /* the kept descriptor, -1: none */
    uint64_t waited, forced; /* context switches, when last read */
};

struct proc {
    int pid;
    int stat, status, io; /* kept descriptors; -1: opened for each reading */
    int statm;            /* likewise; -1: not yet */
    char sizes[64];       /* what statm said last */
    struct proc_thread *threads;
    int thread_count, thread_room;
    uint64_t gone_waited, gone_forced; /* switches of threads that ended */
};

/* One reading. ABSENT where the kernel does not say (or does not tell us). Sizes are bytes. */
struct proc_reading {
    char name[32];
    char state;
    int ppid, tgid; /* tgid: the process that a thread belongs to; from status */
    uint64_t minor_faults, major_faults, child_minor_faults;
    uint64_t user_ticks, system_ticks, threads, start_ticks;
    uint64_t image; /* changes with every exec; 0 where the process is not ours to inspect */
    uint64_t rss, rss_peak, vsz, vsz_peak, swap, rss_anon, rss_file, rss_shmem;
    uint64_t waited, forced; /* context switches of all threads that were seen */
    uint64_t read_chars, write_chars, read_calls, write_calls, read_bytes, write_bytes;
    uint64_t cpu_ns;
    uint64_t pss;
    bool
        ignores_children; /* SIGCHLD is ignored: its children leave no rusage; told of a zombie, too */
};

/* Open what is kept of a process. `keep` false: keep nothing, open for each reading. -1: gone. */
int proc_open(struct proc *p, int pid, bool keep);
void proc_close(struct proc *p);

/* /proc/PID/stat. 0, or -1 when the process is gone. A zombie still reads. */
int proc_read_stat(struct proc *p, struct proc_reading *r);
/* /proc/PID/status: sizes and marks. They stay ABSENT for a zombie or a kernel thread. */
int proc_read_status(struct proc *p, struct proc_reading *r);
/* The same from their text. */
int proc_parse_stat(const char *text, struct proc_reading *r);
void proc_parse_status(const char *text, struct proc_reading *r);
/* Have its sizes stayed the same, to the page, since this was last asked? A third of the cost of stat. */
bool proc_is_still(struct proc *p);
/* Input/output, CPU time to the nanosecond, context switches: the details of a time series. */
void proc_read_details(struct proc *p, struct proc_reading *r);
/* Proportional size. Walks the page tables: about 13 ms per GiB, and holds the target's mmap lock. */
void proc_read_pss(struct proc *p, struct proc_reading *r);

/* Call visit(pid) for every child of every thread. */
void proc_children(struct proc *p, uint64_t threads, void (*visit)(int pid, void *context),
                   void *context);
bool proc_has_children_lists(void); /* some kernels are built without */

/* The command line with NULs between the words; returns its length, 0 when there is none. */
size_t proc_command(int pid, char *out, size_t room);

/* A thread of the kernel: it has no memory of its own. */
bool proc_is_kernel(int pid);

/* A number that grows by at least one with every process or thread made here; 0: not known. */
uint64_t proc_newest(void);

/* Read a whole small file relative to /proc; its length, or -1. The text ends with a NUL. */
long proc_slurp(const char *name, char *out, size_t room);

#endif
