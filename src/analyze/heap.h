/* heap - the allocations of a recording, added up per process, thread, stack and size.
 *
 * Nothing is kept per event. An info (one size from one stack of a process) has its counts, and so
 * has what was sampled from one stack in one class of sizes; only sampled blocks that are alive are
 * kept each. What lived at the peak is remembered lazily: an info notes its count before it changes
 * for the first time after a peak, so the state at the last peak is whole when the pass ends.
 *
 * Numbers of sampled blocks are estimates: each stands for `weight` blocks, and its part of the
 * variance, weight * (weight - 1) * bytes^2, is kept beside the sum (Horvitz and Thompson). Exact
 * blocks have none.
 *
 * The peak of one process is exact. That of several processes is the largest sum found at a moment
 * when one of them had its own peak, or at a boundary of the grid of times: a state that was, so
 * the true peak is at least that.
 */
#ifndef ANALYZE_HEAP_H
#define ANALYZE_HEAP_H

#include "analyze/frames.h"
#include "analyze/question.h"
#include "analyze/run.h"

#define HEAP_LIVED_CLASSES 16 /* see the fates of a BATCH in format.h */
#define HEAP_SIZE_CLASSES 65  /* class n: sizes below 2^n that are in no class before it */

struct heap_amount {
    uint64_t bytes;
    uint64_t milliblocks; /* thousandths of blocks; of exact ones 1000 each */
    double variance;      /* of bytes; 0: exact */
    double of_blocks;     /* variance of blocks; 0: exact */
};

/* What was done in the stretch of time that is asked about; `live` is the state at its end, with
 * what is older.
 */
struct heap_sums {
    struct heap_amount allocated, freed, temporary, live;
};

struct heap_process {
    uint64_t number;
    struct run_process *run; /* NULL where the trace has no such process */
    struct heap_sums sums;
    uint64_t unknown_frees;  /* of blocks that were not seen to live, */
    uint64_t heir_frees;     /* but for those that it had from the process that forked it */
    uint64_t samples;        /* 0: all of it is exact */
    uint64_t from_ns, to_ns; /* of its first and last event */
    uint64_t
        end_ns; /* when it ended, and its heap with it; UINT64_MAX: after the stretch, or never */
    uint64_t worked_ns; /* of the last allocation by a line of Python; 0: none. By HEAP_AT_WORKED */
    struct heap_amount peak; /* the largest live heap, */
    uint64_t peak_ns;        /* and when */
    uint64_t peak_stack;     /* the stack that held most of it then; 0: none */
    uint64_t peak_stack_bytes;
    struct heap_state *state;
};

struct heap_thread {
    uint64_t number, process, tid;
    uint64_t creator;      /* the stack that started it; 0: not known */
    const char *name;      /* may be NULL */
    struct heap_sums sums; /* without live */
    uint64_t from_ns, to_ns;
    bool ended;
};

struct heap_stack {  /* over all processes */
    uint64_t number; /* 0: blocks whose stack is not known */
    struct heap_sums sums;
    struct heap_amount python;          /* the part of `allocated` by Python's own allocators */
    struct heap_amount at;              /* at the moment that heap_at was asked for */
    uint64_t lived[HEAP_LIVED_CLASSES]; /* milliblocks */
    uint64_t least, most;               /* sizes of blocks; most 0: none was allocated */
    uint64_t first_ns, last_ns;         /* allocations */
    uint32_t processes;                 /* that allocated there */
    uint32_t next;                      /* 1 + the place of the next one of its row */
    uint32_t mark;                      /* heap_fold's own, with the next */
    uint64_t held;
};

struct heap_size { /* blocks of one class of sizes, over all processes */
    struct heap_sums sums;
    struct heap_amount at;
    uint64_t stack; /* that allocated the most bytes of it; 0: none */
    uint64_t stack_bytes;
};

struct heap {
    struct run run; /* the processes, the ticks, the health */
    struct frames frames;
    struct question_options options;
    bool any;            /* the trace has allocations at all */
    bool sampled, exact; /* it has such; both where the mode was changed */
    /* Which blocks were temporary. Of a sampled one it is only known if its thread allocated at all
     * before its free, and not even that in old traces.
     */
    bool temporary_known;
    struct heap_process **processes;
    size_t process_count; /* those that allocated or freed */
    struct heap_thread **threads;
    size_t thread_count;
    struct heap_stack *stacks; /* those that allocated, or freed, in no order */
    size_t stack_count;
    struct heap_size sizes[HEAP_SIZE_CLASSES];
    struct heap_sums sums; /* of all processes */
    uint64_t lived[HEAP_LIVED_CLASSES];
    uint64_t events, samples, unknown_frees, heir_frees, maps, mapped_bytes;
    struct heap_amount peak; /* of all processes together */
    bool peak_at_least;      /* it is a bound, see above */
    uint64_t peak_ns;
    uint64_t from_ns, to_ns; /* of what was read: the first and the last event */
    struct heap_grid *grid;  /* live heap over time */
    uint64_t left_out;       /* events that name what this reader does not have */
    struct heap_pass *pass;
};

/* Read the trace for the stretch of time in `o` into *h, which lives in `arena` and refers to `t`;
 * then `tick` is called as run_read does, with h complete. `tick` may be NULL.
 */
void heap_read(struct heap *h, struct arena *arena, struct trace *t,
               const struct question_options *o, run_tick *tick, void *context);

/* Free what is not in the arena. */
void heap_free(struct heap *h);

enum heap_moment {
    HEAP_AT_PEAK,   /* of all processes together */
    HEAP_AT_END,    /* of the stretch */
    HEAP_AT_TIME,   /* time_ns */
    HEAP_AT_WORKED, /* HEAP_AT_END, but of a process that runs Python after the last allocation
                            by a line of it: what the interpreter frees when it ends still lives */
};

/* Fill `at` of every stack and size with what lived then (HEAP_AT_END: when each process ended, or
 * at the end of the stretch); the sum. It may read the trace again.
 */
struct heap_amount heap_at(struct heap *h, struct trace *t, enum heap_moment moment,
                           uint64_t time_ns);

/* The moment that the options ask for, with the question's own default. */
struct heap_amount heap_at_asked(struct heap *h, struct trace *t, enum heap_moment standard);

/* The live heap of all processes: its largest in (from_ns, to_ns]; false: not known. */
bool heap_live_between(const struct heap *h, uint64_t from_ns, uint64_t to_ns, uint64_t *bytes);

/* NULL where the trace has no allocation of that process. */
struct heap_process *heap_process_of(const struct heap *h, uint64_t number);
/* Was it recorded from inside, if it allocated or not? */
bool heap_recorded(const struct heap *h, uint64_t number);

uint64_t heap_blocks(const struct heap_amount *a);
/* The standard error in percent of the bytes; 0: exact. */
double heap_error(const struct heap_amount *a);
/* The share of `part` in `whole`, of which it is one, in percent of blocks; and its standard error in
 * points of that, 0: exact. `whole` must not be 0.
 */
double heap_share(const struct heap_amount *part, const struct heap_amount *whole);
double heap_share_error(const struct heap_amount *part, const struct heap_amount *whole);
double heap_blocks_error(const struct heap_amount *a); /* as heap_error, of the blocks */
void heap_add(struct heap_amount *to, const struct heap_amount *from);

#endif
