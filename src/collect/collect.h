/* collect - the collector: all rings of all recorded processes, into one trace.
 *
 * The caller makes it before the command starts, puts collect_environment into the command's
 * environment, calls collect_pass again and again, and collect_finish when the command and all that
 * it started have ended or shall no longer be waited for.
 */
#ifndef COLLECT_COLLECT_H
#define COLLECT_COLLECT_H

#include "base/err.h"
#include "collect/absorb.h"
#include "collect/still.h"
#include "platform/platform.h"
#include "procs/claimant.h"
#include "trace/ring.h"
#include "trace/store.h"

struct collect;

#define COLLECT_SAMPLE_MEAN 524288u /* bytes: where nobody asks for another */

struct collect_options {
    enum ring_mode mode;
    uint64_t sample_mean; /* bytes; 0: COLLECT_SAMPLE_MEAN */
    uint64_t whole_from;  /* while it samples, every block of so many bytes and more; 0: 64 KiB, and
                             where neither is given 4 KiB of a process with a framework of deep
                             learning */
    uint32_t depth;       /* frames; 0: 256 */
    uint64_t origin_ns;   /* CLOCK_MONOTONIC of the trace's clock origin */
    uint32_t wants;       /* enum ring_wants */
    uint64_t cpu_ns;      /* CPU time between two samples of a thread; 0: 10 ms */
    const struct ring_window *windows; /* only in these steps blocks have their stacks */
    uint32_t window_count;             /* 0: always, unless: */
    bool deferred;                     /* only where a program asks for it */
    const char
        *watch; /* tensors to be watched: less than RING_WATCH_BYTES, and stays; NULL: none */
};

/* NULL with *err. `store` may be NULL: then only counts are kept. */
struct collect *collect_create(const struct collect_options *options, struct trace_store *store,
                               struct err *err);

/* Where the library is, for processes that cannot see that path: they get it by our descriptor. */
void collect_library(struct collect *c, const char *path);

/* "TIDEMARK_RING=...": for the command's environment, beside LD_PRELOAD. */
const char *collect_environment(const struct collect *c);

/* Let somebody else number the processes and tell of them: `number` is called once for each
 * incarnation that has begun to record itself. Before the command starts.
 */
void collect_numbered_by(struct collect *c,
                         uint64_t (*number)(void *context, const struct claimant *who),
                         void *context);

/* A program was started by us, which is to record itself. */
void collect_launched(struct collect *c);

/* It was, or will be, started with an environment that is not marked as counted. */
void collect_unmarked(struct collect *c);

/* The programs that were started by us and by all that are recorded, and those among them that the
 * library has begun in: the others were not recorded.
 */
struct collect_account {
    bool whole;  /* we have started the first: who is only attached to counts nothing */
    bool untold; /* programs appeared that had not been counted: there may be others that did not
                    come */
    uint64_t started, came;
    uint64_t prospects[RING_START_END]; /* of `started`: what was said beforehand */
};

void collect_account(const struct collect *c, struct collect_account *out);

/* A descriptor to wait for: processes of ours that cannot open our memory come there; -1: they
 * cannot. */
int collect_door(const struct collect *c);
/* Give it to those who have come. */
void collect_answer_door(struct collect *c);

/* Change what recorded programs do from now on. */
void collect_mode(struct collect *c, enum ring_mode mode);

/* Record no new allocations of anybody, or record them again; the trace says so. */
void collect_pause(struct collect *c, bool paused);

/* A moment that is of interest; its time in the trace, in whole microseconds. NULL: without a mark.
 */
uint64_t collect_snapshot(struct collect *c, const char *name);

/* How many programs have asked for themselves, so far. */
uint64_t collect_snapshots(const struct collect *c);

/* Is it looked for what points to blocks? */
bool collect_wants_reach(const struct collect *c);

/* Which of its blocks nothing points to, at the moment `at_ns`: after a pass since it stands still.
 * False: nothing is said of it, as it is not recorded or cannot be read.
 */
bool collect_reach(struct collect *c, int pid, const struct collect_still *still, uint64_t at_ns);

/* Where the ring is, for one who joins. */
const char *collect_ring(const struct collect *c);

/* A process that runs is about to join: its children may come from its network namespace. */
void collect_expect(struct collect *c, int pid);

/* Call `visit` for every process that is being recorded. */
void collect_each(const struct collect *c, void (*visit)(void *context, int pid), void *context);

/* The stacks of a process's threads but the first, as far as they are known; how many, at most
 * `most`. */
size_t collect_stacks(const struct collect *c, int pid, struct residence_stack *out, size_t most);

/* Put into the trace what is resident of a process's large blocks and of its mappings, at a time of
 * CLOCK_MONOTONIC. False: it is recorded, but that is denied.
 */
bool collect_resident(struct collect *c, int pid, uint64_t mono_ns);

/* Number those that are new. To be called before processes are looked at in other ways: of two
 * execs in a row each is known by then, and no number is given twice or to the wrong one.
 */
void collect_look(struct collect *c);

/* Read what is there. How long to wait until the next call, in microseconds. */
unsigned int collect_pass(struct collect *c);
/* Give out what is held back to be put together: the store is to be flushed. */
void collect_flush(struct collect *c);

/* Are allocations recorded, now or when it goes on? */
bool collect_has_heap(const struct collect *c);

/* When we noticed, at a pass, that the process of that number had ended; `now` where we have not.
 */
uint64_t collect_ended_ns(const struct collect *c, uint64_t number, uint64_t now);

unsigned int collect_processes(const struct collect *c); /* that are alive, as of the last pass */

/* Read the rest, write what is held back, free all. Totals are left in *totals. */
void collect_finish(struct collect *c, struct absorb_counts *totals);

#endif
