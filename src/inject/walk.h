/* walk - one stack, frame by frame. What it read is kept by path. */
#ifndef INJECT_WALK_H
#define INJECT_WALK_H

#include "inject/state.h"

struct walk {
    struct thread *thread;
    struct caller at;    /* the frame we stand in */
    uintptr_t low, high; /* the stack that may be read */
    intptr_t bias;       /* add to an address on it: where to read it */
    bool kept; /* it was on the thread's own stack all the time, so that it can be repeated */
    struct path_step *step; /* to be filled by the step under way; NULL: nobody asks */
};

enum walk_step { WALK_END, WALK_CUT, WALK_CALLER, WALK_GUESSED };

/* Start at a call. `low` and `high` are the thread's own stack or a copy of another. */
void walk_start(struct walk *w, struct thread *t, struct caller c);

/* Step to the calling frame: w->at is it. */
enum walk_step walk_step(struct walk *w);

/* The two places where the thread's cache may have the row of a return address. */
static inline struct pc_row *walk_places(struct thread *t, uintptr_t pc)
{
    unsigned int rows = likely(mode_is_exact(local.mode)) ? PC_ROWS : PC_ROWS_FEW;

    return &t->pcs[((pc * 0x9e3779b97f4a7c15u) >> 40 & (rows / 2 - 1)) * 2];
}

/* The one that has it, if any has. One place would not do: two calls of a loop that share it would
 * each drive out the other's, and be walked every time.
 */
static inline const struct pc_row *walk_near(struct thread *t, uintptr_t pc)
{
    const struct pc_row *places = walk_places(t, pc);

    return places + (places->pc != pc);
}

/* All frames from w->at on, into t->frames after `count` that are there; how many there are then.
 * Those that the last walk met as well are put there when they are asked for:
 */
size_t walk_frames(struct walk *w, size_t count, unsigned int depth);

/* up to `end` of them are. */
void walk_fill(struct thread *t, size_t end);

#endif
