/* path - the frames of a thread's last walk, and what each step read from the stack.
 *
 * A walk is a function of where it starts and of the words that it reads. Two walks that follow one
 * another differ in their innermost frames: once a walk stands where the last one stood, and the
 * words are what they were, the rest is the same. To compare takes a nanosecond a frame, a step
 * ten.
 */
#ifndef INJECT_PATH_H
#define INJECT_PATH_H

#include "inject/state.h"

/* A walk begins here. */
void path_begin(struct thread *t, const struct caller *at);

/* The walk stands at `at`: does the last one go on from here, unchanged? Its steps from here on;
 * NULL: it does not. *count of them, each with the frame that it led to.
 */
const struct path_step *path_join(struct thread *t, const struct caller *at, size_t *count);

/* The walk stands at `at` and does not join: a step out of it follows. NULL: there are too many, or
 * it is too far from the stack's end.
 */
struct path_step *path_leave(struct thread *t, const struct caller *at);

/* The walk has come to its end, by itself or by joining the last one: to the outermost frame, or
 * where it could not be followed further, which is the same whenever what it read is.
 */
void path_end(struct thread *t, const struct path_step *joined, bool cut);

/* It has not: nothing is to be joined. */
void path_forget(struct thread *t);

struct path_words { /* what a walk read: offsets from `base`, and values */
    uintptr_t base;
    union memo_cell *cells;
    size_t count, most;
    bool needs_fp; /* the frame pointer that it began with */
};

/* One word more; false: they are too many. */
static inline bool path_add(struct path_words *w, uintptr_t at, uintptr_t value)
{
    struct memo_words *four = &w->cells[w->count / MEMO_FOUR].words;

    if (w->count == w->most)
        return false;
    four->offsets[w->count % MEMO_FOUR] = (uint32_t)(at - w->base);
    four->values[w->count++ % MEMO_FOUR] = value;
    return true;
}

/* Add those of the last walk. False: they are too many, or there is no such walk. */
bool path_read(const struct thread *t, struct path_words *w);

#endif
