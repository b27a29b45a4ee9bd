/* heap_pass - what only the files heap*.c share. */
#ifndef ANALYZE_HEAP_PASS_H
#define ANALYZE_HEAP_PASS_H

#include "analyze/heap.h"
#include "analyze/heap_grid.h"
#include "analyze/heap_live.h"
#include "base/intmap.h"
#include "trace/batch.h"

struct heap_info { /* blocks of one size from one stack of one process */
    uint64_t bytes;
    uint64_t live;                     /* blocks, also those from before the stretch */
    uint64_t epoch, saved;             /* the live blocks at the peak before `epoch` */
    uint64_t allocs, frees, temporary; /* in the stretch */
    uint32_t stack;
    bool defined, python;       /* python: by its own allocators */
    uint64_t first_ns, last_ns; /* allocations */
    uint64_t at;                /* live at the moment that is asked for */
    uint32_t lived[HEAP_LIVED_CLASSES];
};

struct heap_sampled { /* sampled blocks of one class of sizes from one stack of one process */
    uint32_t process, stack;
    unsigned int size_class;
    uint64_t epoch;
    struct heap_amount saved, at;
    struct heap_sums sums;
    struct heap_amount python; /* the part of what was allocated by Python's own allocators */
    uint64_t least, most, first_ns, last_ns;
    uint64_t lived[HEAP_LIVED_CLASSES];
};

struct heap_state {          /* of a process */
    struct heap_info *infos; /* by number */
    size_t info_count, info_room;
    struct heap_amount live;
    uint64_t epoch, events;
    uint64_t start_live; /* when this step of the grid began */
    uint64_t step_ns;    /* a time in that step */
    uint64_t high, high_event, high_ns;
    uint64_t peak_event;         /* events up to its own peak */
    bool began;                  /* the stretch */
    struct batch_event freed;    /* the last one: it may be taken back */
    uint64_t cut_ns, cut_events; /* up to where heap_cut reads */
    uint64_t peak_events;        /* cut_events of the peak of all processes, */
    uint64_t worked_events;      /* and of the last allocation by a line of Python */
};

struct heap_pass {
    struct intmap processes, threads; /* number -> 1 + place */
    struct intmap recorded;           /* processes that had a thread, a set */
    size_t process_room, thread_room;
    struct heap_live live;
    struct heap_sampled *sampled;
    size_t sampled_count, sampled_room;
    struct intmap sampled_places;
    size_t infos;               /* of all processes */
    struct heap_thread *thread; /* the last one asked for */
    bool fates_unknown;         /* of a sampled block */
    uint64_t from_ns, to_ns;
    enum heap_moment at; /* what `at` holds */
    uint64_t at_ns;
    bool at_known;
    struct heap_amount at_sum;
    struct intmap stack_places; /* number -> place in heap.stacks */
};

unsigned int heap_size_class(uint64_t bytes);
void heap_subtract(struct heap_amount *from, const struct heap_amount *what);

/* The live blocks of one info or entry at its process's peak. */
uint64_t heap_info_peak(const struct heap_state *s, const struct heap_info *i);
const struct heap_amount *heap_sampled_peak(const struct heap_state *s,
                                            const struct heap_sampled *e);

/* The place of what one stack of a process samples of a class of sizes; UINT32_MAX: too many. */
uint32_t heap_sampled_place(struct heap *h, uint32_t process, uint64_t stack, uint64_t bytes);
/* A sampled block: its estimate. */
struct heap_amount heap_weigh(const struct trace_event *ev);
struct heap_process *heap_process_of_thread(const struct heap *h, uint64_t thread);

/* heap.c: by number. Made on first sight; NULL: it is not there, or there are too many. */
struct heap_process *heap_make_process(struct heap *h, uint64_t number);
struct heap_thread *heap_thread_of(const struct heap *h, uint64_t number);
struct heap_thread *heap_make_thread(struct heap *h, uint64_t number);

/* heap_step.c. The stretch that is asked about begins: what lives is its first peak. */
void heap_begin_stretch(struct heap_process *p, uint64_t time_ns);
/* This process's part of a step of the grid is known. */
void heap_end_step(struct heap *h, struct heap_process *p);
/* Its events from now on have this time; false: they are after the stretch. *in: they are in it. */
bool heap_move_to(struct heap *h, struct heap_process *p, uint64_t time_ns, bool *in);
/* Its live heap grew. */
void heap_rose(struct heap_process *p, uint64_t time_ns, bool in);

/* heap_batch.c and heap_sample.c: one record each. */
void heap_take_infos(struct heap *h, const struct trace_event *ev);
void heap_take_batch(struct heap *h, const struct trace_event *ev);
void heap_take_sample(struct heap *h, const struct trace_event *ev);
void heap_take_sample_free(struct heap *h, const struct trace_event *ev);

/* heap_fold.c: from infos and entries to stacks, sizes and processes. */
void heap_fold(struct heap *h);
/* The same for `at` alone. */
struct heap_amount heap_fold_at(struct heap *h);

/* heap_at.c: the state at each process's cut_ns and cut_events. */
void heap_cut(struct heap *h, struct trace *t);
/* Does its next event, of this time, still belong to that state? */
bool heap_goes_on(const struct heap *h, struct heap_state *s, uint64_t time_ns);
/* heap_worked.c: cut each process after its last allocation by a line of Python, with no events
 * counted yet; false: there is no Python, and nothing is cut.
 */
bool heap_worked(struct heap *h, struct trace *t);

#endif
