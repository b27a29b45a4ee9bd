/* moments - what a program has named: marks, snapshots, and the ends of its steps. The steps of one
 * name in one process are a loop; each goes from the end of the one before it, the first from the
 * beginning of its process. Where no program tells of steps, those of deep-learning programs are
 * found (step_find.h).
 */
#ifndef MODEL_MOMENTS_H
#define MODEL_MOMENTS_H

#include "model/process_lens.h"
#include "model/step_find.h"
#include "model/threads.h"

struct named_moment {
    uint64_t time_ns, process, thread;
    uint64_t kind;       /* TRACE_MARK_MOMENT, _STEP or _SNAPSHOT */
    const char *name;    /* may be empty */
    uint64_t value;      /* of a step: its number, as the program says */
    uint64_t step;       /* of a step: the how manieth of its process; 0: not known */
    uint64_t seen, from; /* the question's own */
    enum step_how how;   /* of a step: how it is known */
    bool outside;        /* of a step: blocks had no stacks then */
};

struct moments_loop {
    const char *name;
    uint64_t process, began_ns;
    struct named_moment **steps; /* in the order of time */
    size_t count;
    enum step_how how;
    size_t stacked_first, stacked_count; /* its longest stretch in which blocks have their stacks */
};

struct moments { /* zeroed: empty */
    const struct names *names;
    struct threads *threads;
    const struct frames *frames;
    struct step_find find;
    struct named_moment *list; /* in the order of the trace */
    size_t count, room;
    uint64_t left_out;           /* above the limit of this reader */
    struct intmap began;         /* process -> when */
    struct intmap windowed;      /* process that has said so -> 1: it is in a window; 0: outside */
    bool outside;                /* of those that have not */
    struct named_moment **steps; /* of all loops, one after the other */
    struct moments_loop *loops;
    size_t loop_count;
    struct names own_names; /* where they are read by themselves */
    struct threads own_threads;
    struct frames own_frames;
};

/* Take a record, after names, threads and frames did. */
void moments_start(struct moments *m, const struct names *names, struct threads *threads,
                   const struct frames *frames);
void moments_take(struct moments *m, const struct trace_event *ev);
/* All was taken: the loops. */
void moments_end(struct moments *m);
void moments_free(struct moments *m);

/* All of a trace, or those that a lens shows, in a pass of their own; texts are in the arena. */
void moments_read(struct moments *m, struct trace *t, struct arena *a,
                  const struct process_lens *only);

/* Is it a mark by which the recorder says something of an option, for the question that it is
 * about? */
bool moments_is_ours(uint64_t kind, const char *name);

/* When step i of a loop began. */
uint64_t moments_from(const struct moments_loop *l, size_t i);

#endif
