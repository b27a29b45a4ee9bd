/* contexts - under which step and labels a thread allocates: numbers for them, which are defined in
 * the trace when the first block needs one. 0: no step has ended and nothing is labelled.
 *
 * Steps only go forward, so what was numbered in one that has ended is not asked for again and need
 * not be kept.
 */
#ifndef COLLECT_CONTEXTS_H
#define COLLECT_CONTEXTS_H

#include "base/intmap.h"
#include "trace/store.h"

#include <stdbool.h>

#define CONTEXTS_DEPTH 8u /* labels of a thread at one time */

struct contexts_labels { /* of a thread, in the order in which it began to use their keys */
    struct {
        uint64_t key, value; /* strings of the trace */
    } of[CONTEXTS_DEPTH];
    unsigned int count;
    uint64_t version; /* of the process's contexts when `number` was found */
    uint32_t number;
};

struct contexts {                  /* of a process; zeroed: no step, no context */
    const struct contexts *parent; /* of the process that forked it; NULL: none */
    uint64_t process;              /* its number in the trace */
    uint64_t owner;                /* the process whose steps `step` counts; 0: none has told any */
    uint64_t step;                 /* how many of its steps have ended */
    uint64_t inherited;            /* the owner when it was forked; 0: none */
    uint64_t version;              /* goes up when the step changes */
    uint32_t current;              /* contexts from this number on are of the current step */
    struct contexts_made {
        struct contexts_labels labels;
        uint32_t number;
    } * made; /* in the current step */
    size_t made_count, made_room;
    struct intmap places; /* hash of labels -> 1 + place in `made` */
    uint32_t unknown;     /* the context of blocks whose own is not kept; 0: none yet */
    uint64_t refused;     /* contexts that were not kept */
    bool full;            /* no more are */
};

struct contexts_numbers { /* of a trace */
    uint32_t count;
};

/* The thread works for key = value from now on; value 0: no longer. */
void contexts_label(struct contexts_labels *l, struct contexts *c, uint64_t key, uint64_t value);
void contexts_unlabel(struct contexts_labels *l, const struct contexts *c); /* for nothing at all */
/* A step of the process has ended: the how manieth; */
void contexts_step(struct contexts *c, uint64_t step);
/* so many had ended when it was forked: of the parent's own, or of those that the parent inherited.
 */
void contexts_heir(struct contexts *c, uint64_t steps, bool own);

/* The thread's context, which was not looked up since something changed. */
uint32_t contexts_find(struct contexts *c, struct contexts_labels *l, struct contexts_numbers *n,
                       struct trace_store *s);
/* Whose steps they are is still known, to its children. */
void contexts_free(struct contexts *c);

/* The same for every allocation. */
static inline uint32_t contexts_of(struct contexts *c, struct contexts_labels *l,
                                   struct contexts_numbers *n, struct trace_store *s)
{
    return l->version == c->version ? l->number : contexts_find(c, l, n, s);
}

#endif
