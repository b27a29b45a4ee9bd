/* collect - the collector: all rings of all recorded processes, into one trace.
 *
 * The caller makes it before the command starts, puts collect_environment into the command's
 * environment, calls collect_pass again and again, and collect_finish when the command and all that
 * it started have ended or shall no longer be waited for.
 */
#ifndef WATCH_COLLECT_H
#define WATCH_COLLECT_H

#include "base/err.h"
#include "trace/ring.h"
#include "trace/store.h"
#include "watch/absorb.h"
#include "watch/residence.h"

struct collect;

struct collect_options {
    enum ring_mode mode;
    uint64_t sample_mean; /* bytes; 0: 512 KiB */
    uint32_t depth;       /* frames; 0: 256 */
    uint64_t origin_ns;   /* CLOCK_MONOTONIC of the trace's clock origin */
    uint32_t wants;       /* enum ring_wants */
    uint64_t cpu_ns;      /* CPU time between two samples of a thread; 0: 10 ms */
};

/* NULL with *err. `store` may be NULL: then only counts are kept. */
struct collect *collect_create(const struct collect_options *options, struct trace_store *store,
                               struct err *err);

/* "TIDEMARK_RING=...": for the command's environment, beside LD_PRELOAD. */
const char *collect_environment(const struct collect *c);

/* Let somebody else number the processes and tell of them: `number` is called once for each
 * incarnation that has begun to record itself, with the file that it runs and its name. Before the
 * command starts.
 */
void collect_numbered_by(struct collect *c,
                         uint64_t (*number)(void *context, int pid, const char *file,
                                            const char *name),
                         void *context);

/* Change what recorded programs do from now on. */
void collect_mode(struct collect *c, enum ring_mode mode);

/* Record no new allocations of anybody, or record them again; the trace says so. */
void collect_pause(struct collect *c, bool paused);

/* A moment that is of interest; its time in the trace, in whole microseconds. */
uint64_t collect_snapshot(struct collect *c, const char *name);

/* Where the ring is, for one who joins. */
const char *collect_ring(const struct collect *c);

/* Call `visit` for every process that is being recorded. */
void collect_each(const struct collect *c, void (*visit)(void *context, int pid), void *context);

/* The stacks of a process's threads but the first, as far as they are known; how many, at most `most`. */
size_t collect_stacks(const struct collect *c, int pid, struct residence_stack *out, size_t most);

/* Number those that are new. To be called before processes are looked at in other ways: of two execs in
 * a row each is known by then, and no number is given twice or to the wrong one.
 */
void collect_look(struct collect *c);

/* Read what is there. How long to wait until the next call, in microseconds. */
unsigned int collect_pass(struct collect *c);

/* Are allocations recorded, now or when it goes on? */
bool collect_has_heap(const struct collect *c);

unsigned int collect_processes(const struct collect *c); /* that are alive, as of the last pass */

/* Read the rest, write what is held back, free all. Totals are left in *totals. */
void collect_finish(struct collect *c, struct absorb_counts *totals);

#endif
