/* absorb - the records of one ring become records of the trace. Used by collect alone. */
#ifndef WATCH_ABSORB_H
#define WATCH_ABSORB_H

#include "python/layout.h"
#include "trace/batch.h"
#include "trace/ring.h"
#include "watch/blocks.h"
#include "watch/infos.h"
#include "watch/owed.h"
#include "watch/regions.h"
#include "watch/stackmap.h"

struct absorb_counts { /* of a process, for tests and the report's first line */
    uint64_t allocs, frees, bytes, unknown_frees, samples, maps, stacks, nested, torn, lost;
    uint64_t broken; /* rings that were scribbled over */
    uint64_t live_bytes, live_blocks, peak_bytes;
};

#define ABSORB_SAMPLED UINT32_MAX /* `info` of a sampled block: it is told by itself */

struct absorb_python {               /* the interpreter of a process */
    bool read;                       /* its frames can be read */
    uint64_t runtime, runtime_bytes; /* of _PyRuntime: the GIL is in there */
    struct py_layout layout;
};

struct absorb_process {
    uint32_t number, pid;
    struct stackmap_process stacks;
    struct infos infos;
    struct blocks blocks;
    struct owed owed;
    struct absorb_deferred {
        uint64_t address;
        struct absorb_ring *ring;
    } * deferred;
    size_t deferred_count, deferred_room;
    struct batch *batch;    /* NULL: no events yet */
    struct regions regions; /* that have a number */
    struct absorb_counts counts;
    char *file;
    struct absorb_python python;
    bool threaded; /* more than one ring: records of a tick may be seen in the wrong order */
    uint64_t first_ns, last_ns;
};

struct absorb_ring {
    struct absorb_process *process;
    uint64_t at;   /* words read */
    uint64_t tick; /* of what comes next */
    uint64_t *words;
    bool broken;     /* what it says cannot be believed any more */
    uint32_t thread; /* number in the trace; 0: not yet seen */
    uint32_t order;  /* allocations it made */
    uint32_t tid;
    uint64_t stack_low, stack_bytes; /* of this thread; 0 bytes: not known, or it has ended */
    uint64_t born_ns;                /* when this thread showed itself */
    struct regions regions;          /* that this thread has opened */
    uint64_t freed;                  /* the last free, in case it is taken back */
    struct block freed_block;
    uint64_t unmapped, unmapped_bytes, unmapped_ns; /* an unmap that may be taken back */
    uint64_t cpu_stack;                             /* where its last CPU sample was */
    struct blocked_thread *wait;                    /* see blocked.h; NULL: not looked at yet */
};

struct absorb {                /* of a trace */
    struct trace_store *store; /* NULL: count only */
    bool silent;               /* somebody else tells of processes */
    struct stackmap stackmap;
    uint64_t thread_count, region_count;
    struct absorb_counts totals;
};

/* The name in the text of a PROCESS, which ends with a NUL after so many bytes. */
const char *absorb_name(const char *text, size_t bytes);

/* Read the ring up to the first record later than `until`, or its end; words that were read are
 * zero again. How many were.
 */
uint64_t absorb_ring(struct absorb *a, struct absorb_ring *r, uint64_t until);

/* All rings of the process were read up to the end of a tick; r is one of them. */
void absorb_tick_end(struct absorb *a, struct absorb_ring *r);

/* Put out the events that are held back in the process's batch. */
void absorb_flush(struct absorb *a, struct absorb_process *p);
void absorb_process_free(struct absorb *a, struct absorb_process *p);

#endif
