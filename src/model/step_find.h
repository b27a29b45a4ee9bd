/* step_find - the steps of a deep-learning program that tells of none, by what its tensors are born
 * from:
 *
 *   optimizer  one ends where the program leaves the line that makes an optimizer's steps
 *   backward   or, where optimizers allocate nothing, the line that computes gradients
 *   pattern    without gradients: where the stack comes again that begins what repeats
 *
 * step_lines.h has the first two. Of several threads the one that makes most counts. Births of
 * tensors are taken in the first pass over a trace, if it maps a framework that is known; which
 * stacks are of tensors is known when all of it was read.
 */
#ifndef MODEL_STEP_FIND_H
#define MODEL_STEP_FIND_H

#include "model/step_birth.h"
#include "model/threads.h"

struct step_find { /* zeroed: empty */
    bool active;   /* the trace maps a framework; known also after step_find_free */
    struct step_birth *births;
    size_t count, room;
    uint64_t left_out;   /* above the limit of this reader */
    struct intmap infos; /* process << 32 | info -> stack, of large blocks */
};

/* Take a MODULE, ALLOC, INFOS or BATCH; others are left alone. */
void step_find_take(struct step_find *f, const struct names *names, struct threads *threads,
                    const struct trace_event *ev);

typedef void step_found(void *context, uint64_t process, uint64_t number, uint64_t end_ns,
                        enum step_how how);

/* All was taken: tell the steps of each process, numbered from 1. */
void step_find_end(struct step_find *f, const struct frames *frames, struct arena *a,
                   step_found *found, void *context);
void step_find_free(struct step_find *f);

/* The ends of steps, from the births of one process in their order: a pure function. `ends` has
 * room for as many as there are births. How many; 0: none were found.
 */
size_t step_find_ends(const struct step_birth *births, size_t count, uint64_t *ends,
                      enum step_how *how);

const char *step_how_text(enum step_how how);

#endif
