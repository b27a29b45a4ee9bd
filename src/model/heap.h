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
 * The peak of several processes is that of their events in the order of time (heap_together.c).
 */
#ifndef MODEL_HEAP_H
#define MODEL_HEAP_H

#include "model/born.h"
#include "model/frames.h"
#include "model/heap_amount.h"
#include "model/run.h"
#include "model/selection.h"
#include "model/threads.h"

#define HEAP_LIVED_CLASSES 16 /* see the fates of a BATCH in format.h */
#define HEAP_SIZE_CLASSES 65  /* class n: sizes below 2^n that are in no class before it */

struct creators;

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
    bool exact;              /* some of it is */
    uint64_t from_ns, to_ns; /* of its first and last event */
    uint64_t
        end_ns; /* when it ended, and its heap with it; UINT64_MAX: after the stretch, or never */
    bool looked_at;     /* what nothing pointed to is known, at its end or another moment */
    uint64_t looked_ns; /* the last of them */
    bool execed;        /* it became another process then */
    uint64_t was;       /* what it was before exec(2), by number; 0: nothing else */
    uint64_t worked_ns; /* when its interpreter began to end; 0: it has none, or it did not */
    struct heap_amount worked; /* alive then */
    struct heap_amount peak;   /* the largest live heap, */
    uint64_t peak_ns;          /* and when */
    uint64_t peak_stack;       /* the stack that held most of it then; 0: none */
    uint64_t peak_stack_bytes;
    struct heap_state *state;
};

/* Over all processes. There may be millions: what only samples and mappings have is beside them
 * (spreads in heap_pass.h), and heap_stack_sum puts it together; what few ask for is added up when
 * they do (heap_stack_python, heap_each_life).
 */
struct heap_stack {
    uint32_t number;    /* 0: blocks whose stack is not known */
    uint32_t processes; /* that allocated there */
    uint32_t next;      /* 1 + the place of the next one of its row */
    uint32_t mark;      /* heap_fold's own */
    uint64_t held;      /* the same; then step_growth's */
    struct {
        struct heap_count allocated, temporary, live;
    } sums;
    struct heap_count at; /* at the moment that heap_at was asked for */
};

struct heap_stack_spread { /* of a heap_stack */
    struct heap_spread allocated, temporary, live, at;
    uint64_t at_mapped, at_shared; /* bytes of `at` that are no heap, but of these kinds */
};

/* Of what was allocated: known where somebody asks (heap_want_seen), or something was sampled. */
struct heap_seen {
    bool any;
    uint64_t least, most; /* sizes of blocks */
    uint64_t first_ns, last_ns;
};

struct heap_stack_sum { /* of one or more stacks: see heap_stack and its spread */
    struct {
        struct heap_amount allocated, temporary, live;
    } sums;
    struct heap_amount at, unreached;
    uint64_t at_mapped, at_shared;
    uint64_t held;
    struct heap_seen seen;
    uint32_t processes; /* the most of any of them */
};

/* What became of blocks. */
struct heap_life {
    struct heap_amount freed;
    uint64_t lived[HEAP_LIVED_CLASSES]; /* milliblocks of these, by how long they had lived */
};

struct heap_size { /* blocks of one class of sizes, over all processes */
    struct heap_sums sums;
    struct heap_amount at;
    uint64_t stack; /* that allocated the most bytes of it; 0: none */
    uint64_t stack_bytes;
};

struct heap {
    struct run *run; /* these three are somebody else's */
    const struct frames *frames;
    struct threads *threads;
    struct arena *arena;
    struct selection options;
    bool any;            /* the trace has allocations at all */
    bool sampled, exact; /* it has such; both where the mode was changed */
    /* Which blocks were temporary. Of a sampled one it is only known if its thread allocated at all
     * before its free, and not even that in old traces.
     */
    bool temporary_known;
    struct heap_process **processes;
    size_t process_count;          /* those that allocated or freed */
    struct heap_sums *thread_sums; /* by place in threads, without live; see heap_thread_sums */
    size_t thread_room;
    struct heap_stack *stacks; /* those that allocated, or freed, in no order */
    size_t stack_count;
    struct heap_count *unreached; /* by place in stacks: what nothing pointed to at the last look;
                                   * NULL: nothing is known to be so */
    struct heap_size sizes[HEAP_SIZE_CLASSES];
    struct heap_sums sums; /* of all processes */
    uint64_t lived[HEAP_LIVED_CLASSES];
    double mean; /* bytes from one sample to the next, at the most; 0: nothing was sampled */
    uint64_t events, samples, unknown_frees, heir_frees, maps;
    bool mapped;   /* some of it is mapped by the program itself, */
    bool reserved; /* and some of that is resident in reservations, as it was seen now and then */
    struct heap_amount at_memory[TRACE_MEMORY_COUNTED];   /* parts of what heap_at was asked for */
    struct heap_amount peak_memory[TRACE_MEMORY_COUNTED]; /* of the peak, once that was asked for */
    uint64_t files_most, reserved_most; /* what was mapped of files, and addresses; at one time */
    struct heap_amount peak;            /* of all processes together */
    bool peak_of_several;               /* which are in order to a tick */
    uint64_t peak_ns;
    uint64_t from_ns, to_ns;    /* of what was read: the first and the last event */
    struct heap_grid *grid;     /* live heap over time */
    struct heap_replay *replay; /* takes the events again, after heap_end, for who wants them */
    bool unfreed;               /* frees are taken back that taken_back.h has not seen to */
    uint64_t born_unknown;      /* allocations of which nobody knows if they are asked about */
    uint64_t left_out;          /* events that name what this reader does not have */
    struct heap_pass *pass;
};

/* A heap is read by taking all records of a trace in their order, up to heap_until, after `frames`
 * and `threads` took them; it refers to the three and lives in the arena. heap_end knows all but
 * the moments that take the events again (heap_want), and, until heap_join, which process is which
 * of the run. `creators` takes who started the threads that allocate; NULL: nobody.
 */
void heap_start(struct heap *h, struct arena *arena, const struct selection *o,
                struct creators *creators);
/* Before the first record: what each of them does is told in courses (heap_course.h). */
void heap_want_courses(struct heap *h);
/* The same: what is seen of the allocations of each stack; and how long blocks lived. */
void heap_want_seen(struct heap *h);
void heap_want_lives(struct heap *h);
void heap_take(struct heap *h, const struct trace_event *ev);
void heap_end(struct heap *h);
void heap_join(struct heap *h, struct run *run);
/* What was sampled of a stretch of time peaks no higher than the whole recording: each process, */
void heap_bound(struct heap *h, const struct heap *whole);
/* and all of them together, once that is known. */
void heap_bound_sum(struct heap *h, uint64_t most);
/* Other options from here on: of the same stretch of time. */
void heap_narrow(struct heap *h, const struct selection *o);
uint64_t heap_until(const struct selection *o);

/* Free what is not in the arena. */
void heap_free(struct heap *h);

enum heap_moment {
    HEAP_AT_PEAK,   /* of all processes together */
    HEAP_AT_END,    /* of the stretch */
    HEAP_AT_TIME,   /* time_ns */
    HEAP_AT_WORKED, /* HEAP_AT_END, but of a process whose interpreter ended before that: what it
                            then frees still lives. Without what a process held at an exec */
};

/* This moment will be asked for. Where that takes the events again, they are read by h->replay. */
void heap_want(struct heap *h, enum heap_moment moment, uint64_t time_ns);

/* Is what lives then cut out of the events, as somebody wants it? */
bool heap_wants(const struct heap *h, enum heap_moment moment);

/* Fill `at` of every stack and size with what lived then (HEAP_AT_END: when each process ended, or
 * at the end of the stretch); the sum. The moment was wanted, and the events were read again.
 */
struct heap_amount heap_at(struct heap *h, enum heap_moment moment, uint64_t time_ns);

/* The same of the moment that the options ask for, with the question's own default. */
void heap_want_asked(struct heap *h, enum heap_moment standard);
struct heap_amount heap_at_asked(struct heap *h, enum heap_moment standard);
/* All that is known of one stack, and more than one together. */
struct heap_stack_sum heap_stack_sum(const struct heap *h, const struct heap_stack *s);
void heap_stack_sum_add(struct heap_stack_sum *to, const struct heap_stack_sum *from);
struct heap_amount heap_stack_at(const struct heap *h, const struct heap_stack *s);
/* What Python's own allocators have allocated there; how far samples of it are off is not known. */
struct heap_count heap_stack_python(const struct heap *h, const struct heap_stack *s);
/* What nothing pointed to at the last look. */
struct heap_count heap_stack_unreached(const struct heap *h, const struct heap_stack *s);
/* To change `at`; then heap_at_forget. */
void heap_stack_at_set(struct heap *h, struct heap_stack *s, const struct heap_amount *at);
/* Somebody has changed `at`. */
void heap_at_forget(struct heap *h);

/* The sum of HEAP_AT_WORKED alone, by what the first reading has seen. */
struct heap_amount heap_worked_sum(const struct heap *h);
/* Is it known of every process that has something alive what nothing pointed to? */
bool heap_reach_known(const struct heap *h);
uint64_t heap_reach_ns(const struct heap *h); /* as of when: the earliest of their processes */
/* What processes held when they became others by exec(2). */
struct heap_amount heap_execed_sum(const struct heap *h);

/* What is shown of a level of the live heap: no more than the peak, which of samples is an estimate
 * of its own. Want it before the events are read again.
 */
void heap_want_levels(struct heap *h);
uint64_t heap_level(struct heap *h, uint64_t bytes);
/* The same of HEAP_AT_TIME, whose parts are lowered with the sum. */
void heap_want_bounded(struct heap *h);

/* The live heap of all processes: its largest in (from_ns, to_ns]; false: not known. */
bool heap_live_between(const struct heap *h, uint64_t from_ns, uint64_t to_ns, uint64_t *bytes);

/* NULL where the trace has no allocation of that process. */
struct heap_process *heap_process_of(const struct heap *h, uint64_t number);
struct heap_process *heap_process_of_thread(const struct heap *h, uint64_t thread);
/* What one thread did; all 0 where it did nothing. */
struct heap_sums heap_thread_sums(const struct heap *h, const struct threads_thread *t);

uint64_t heap_blocks(const struct heap_amount *a);
/* The standard error in percent of the bytes; 0: exact. */
double heap_error(const struct heap_amount *a);
/* The share of `part` in `whole`, of which it is one, in percent of blocks; and its standard error
 * in points of that, 0: exact. `whole` must not be 0.
 */
double heap_share(const struct heap_amount *part, const struct heap_amount *whole);
double heap_share_error(const struct heap_amount *part, const struct heap_amount *whole);
void heap_add(struct heap_amount *to, const struct heap_amount *from);
void heap_subtract(struct heap_amount *from, const struct heap_amount *what);

#endif
