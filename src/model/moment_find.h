/* moment_find - which moment, and which steps, a text means.
 *
 *   NAME      a mark, a snapshot or the end of a step; the first of several
 *   NAME:V    the one with the value V; of steps, their number. "step" stands for any loop that has
 * no other of that name NAME#K    the Kth of several [LOOP:]N[..M]   steps N to M of a loop
 */
#ifndef MODEL_MOMENT_FIND_H
#define MODEL_MOMENT_FIND_H

#include "base/err.h"
#include "model/born.h"
#include "model/moments.h"

struct moment_found {
    const struct named_moment *moment;
    const char *meant; /* where there are several: which it is, as a clause; else NULL */
};

/* -1 with *err: there is none, which names it suggests. Texts are in the arena. */
int moment_find(const struct moments *m, const char *text, struct arena *a,
                struct moment_found *out, struct err *err);

struct moment_steps { /* of one loop: the first that has them */
    const struct moments_loop *loop;
    size_t first, last;
    const char *meant; /* as above */
};

int moment_find_steps(const struct moments *m, const char *text, struct arena *a,
                      struct moment_steps *out, struct err *err);

/* The same for blocks that were allocated in such steps, of all processes with such a loop: into
 * *out.
 */
int moment_born(const struct moments *m, const char *text, struct arena *a, struct born *out,
                struct err *err);

#endif
