/* cpu_time - where time went: CPU time by kind, waits by cause, and copies, added up per thread and
 * stack.
 *
 * CPU time is sampled: a sample stands for the time since the one before it, so the standard error
 * of a sum is the root of its samples' squares. Waits are measured by looking again and again, and
 * have the same kind of error. Copies carry weights, as sampled allocations do.
 */
#ifndef MODEL_CPU_TIME_H
#define MODEL_CPU_TIME_H

#include "base/intmap.h"
#include "trace/read.h"

#define CPU_TIME_KINDS 4  /* enum trace_cpu_kind without its flag; 0: not known */
#define CPU_TIME_CAUSES 9 /* enum trace_cause; 0: not known */

struct cpu_sums {
    uint64_t ns; /* of all kinds */
    uint64_t kind_ns[CPU_TIME_KINDS];
    uint64_t in_copy_ns; /* the part of it in memcpy or memmove */
    uint64_t samples;
    double squares;   /* of the samples' ns */
    uint64_t wait_ns; /* of all causes but for lack of a CPU, which is the machine's, not the
                         program's */
    uint64_t cause_ns[CPU_TIME_CAUSES];
    uint64_t waits;
    uint64_t copied; /* bytes */
    double copied_variance;
    uint64_t copies; /* records */
};

struct cpu_entry {
    uint64_t thread, stack;
    struct cpu_sums sums;
};

struct cpu_time {              /* zeroed: empty, and all of the trace is asked about */
    uint64_t from_ns, to_ns;   /* only what is in it is taken; to_ns 0: to the end */
    struct cpu_entry *entries; /* in the order of first sight */
    size_t count, room;
    struct intmap places;
    struct cpu_sums sums; /* of all of them */
    uint64_t most;        /* of entries; 0: as many as of any trace */
    uint64_t left_out;    /* above the limits of this reader */
};

/* Take a CPU, WAIT or COPY; others are left alone. */
void cpu_time_take(struct cpu_time *c, const struct trace_event *ev);
/* What a record of these kinds adds; false: it is of another kind, or not in the time that is asked
 * about.
 */
bool cpu_time_of(const struct cpu_time *c, const struct trace_event *ev, struct cpu_sums *one);
void cpu_time_free(struct cpu_time *c);

void cpu_sums_add(struct cpu_sums *to, const struct cpu_sums *from);
/* The standard error in percent of the CPU time; 0: there was none. */
double cpu_sums_error(const struct cpu_sums *s);

/* The same of the copied bytes. */
double cpu_sums_copied_error(const struct cpu_sums *s);

#endif
