/* machine - memory, CPU and disks of the whole machine, from /proc, through kept descriptors. */
#ifndef WATCH_MACHINE_H
#define WATCH_MACHINE_H

#include "trace/write.h"
#include "watch/result.h"

#define MACHINE_METRICS 16

struct machine {
    int meminfo, stat, diskstats, vmstat; /* kept descriptors, opened at first use; 0: not yet */
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

#endif
