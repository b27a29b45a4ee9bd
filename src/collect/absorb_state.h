/* absorb_state - what is known of processes and their rings while these are absorbed, and how that
 * gets into the trace.
 */
#ifndef COLLECT_ABSORB_STATE_H
#define COLLECT_ABSORB_STATE_H

#include "collect/blocks.h"
#include "collect/contexts.h"
#include "collect/infos.h"
#include "collect/large.h"
#include "collect/owed.h"
#include "collect/regions.h"
#include "collect/space_blocks.h"
#include "collect/stackmap.h"
#include "collect/still.h"
#include "python/pytasks.h"
#include "trace/batch.h"
#include "trace/mappings.h"
#include "trace/ring.h"

struct absorb_counts { /* of a process, for tests and the report's first line */
    uint64_t allocs, frees, bytes, unknown_frees, samples, maps, stacks, nested, torn, lost;
    uint64_t broken; /* rings that were scribbled over */
    uint64_t live_bytes, live_blocks, peak_bytes;
    uint64_t windows, steps; /* how many began; the most steps of a process */
    uint64_t snapshots;      /* that programs have asked for */
    uint32_t watched;        /* of what is to be watched by name: a bit for each that was met */
    uint64_t tensors_from; /* of a process with a framework of deep learning, the first, every block
                              of so many bytes and more is told; 0: there is none */
    char framework[64];    /* the library */
};

#define ABSORB_SAMPLED UINT32_MAX /* `info` of a sampled block: it is told by itself */

struct absorb_python {               /* the interpreter of a process */
    bool read;                       /* its frames can be read */
    uint64_t runtime, runtime_bytes; /* of _PyRuntime: the GIL is in there */
    struct py_layout layout;
    uint64_t loop_codes[PY_LOOP_KINDS]; /* functions that wait: see pystack.c; 0: not seen */
    struct py_loop loops[PY_LOOP_KINDS];
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
    struct contexts contexts;
    struct mappings mappings; /* of this process alone */
    struct large large;
    struct spaces spaces;   /* memory of devices */
    struct intmap op_names; /* what stands for the name of an operator -> its string */
    struct absorb_counts counts;
    char *file;
    struct absorb_python python;
    struct native_code *code; /* see native_code.h; NULL: nobody has asked yet */
    uint32_t code_unloaded;   /* as often as stacks.unloaded, when it was asked last */
    struct absorb_reach {     /* it waits to be looked at: see reach.h */
        bool wanted;
        uint32_t slot, tid;
        uint64_t time_ns, stack, data;     /* where its stack stands; its thread pointer */
        const struct collect_still *still; /* of one that stands still: that of all threads */
    } reach;
    uint8_t ranked[RING_RANK_KINDS]; /* by which of RING_RANKS its rank is known, from 1; 0: it is
                                        not */
    struct absorb_suspect {          /* was freed, perhaps, when it was watched: see was_freed.h */
        uint64_t address, time_ns;
        uint32_t thread;
        struct block block; /* the dead one */
    } * suspects;
    size_t suspect_count, suspect_room; /* of this tick */
    struct {
        uint64_t from;  /* every block of so many bytes and more is told; 0: as the run begins */
        uint32_t since; /* and this sample */
    } whole;
    bool renumbered;     /* it knows pids by other numbers than we do */
    bool gaps;           /* it was not recorded all the time: blocks may live that are not known */
    bool threaded;       /* more than one ring: records of a tick may be seen in the wrong order */
    bool beyond;         /* it has told more than is kept of one: the rest is not read */
    uint64_t text_bytes; /* of strings that nobody had told before */
    uint64_t first_ns, last_ns;
};

struct absorb_ring {
    struct absorb_process *process;
    uint64_t at;   /* words read */
    uint64_t tick; /* of what comes next */
    uint64_t *words;
    bool broken;          /* what it says cannot be believed any more */
    uint32_t thread;      /* number in the trace; 0: not yet seen */
    uint32_t order;       /* allocations it made, */
    uint32_t space_order; /* and those of devices' memory */
    uint32_t slot;
    uint32_t tid;
    uint64_t stack_low, stack_bytes; /* of this thread; 0 bytes: not known, or it has ended */
    uint64_t born_ns;                /* when this thread showed itself */
    struct regions regions;          /* that this thread has opened */
    struct contexts_labels labels;   /* of this thread */
    uint64_t freed;                  /* the last free, in case it is taken back */
    struct block freed_block;
    uint64_t unmapped, unmapped_bytes, unmapped_ns; /* an unmap that may be taken back */
    uint64_t cpu_stack;                             /* where its last CPU sample was */
    struct blocked_thread *wait;                    /* see blocked.h; NULL: not looked at yet */
};

struct absorb {                /* of a trace */
    struct trace_store *store; /* NULL: count only */
    bool silent;               /* somebody else tells of processes */
    const char *watch;         /* tensors that are to be watched; NULL: none */
    uint64_t whole_from; /* every block of so many bytes and more is told, as the run begins; 0: it
                            is not known */
    uint64_t now_ns;     /* as of the last look: nothing is much later */
    struct stackmap stackmap;
    uint64_t thread_count, region_count;
    struct contexts_numbers contexts;
    struct spaces_numbers spaces;
    struct absorb_counts totals;
};

/* The name in the text of a PROCESS, which ends with a NUL after so many bytes. */
const char *absorb_name(const char *text, size_t bytes);

/* The number of a text that the process has told; 0: none. */
uint64_t absorb_string(struct absorb *a, struct absorb_process *p, const char *text, size_t bytes);

/* What several threads do to one address is told apart by more than its tick: the program's clock,
 * where it can be believed.
 */
uint64_t absorb_time(const struct absorb *a, const struct absorb_ring *r, uint64_t told);

/* Put out the events that are held back in the process's batch. */
void absorb_flush(struct absorb *a, struct absorb_process *p);

#endif
