/* align_sized - two sequences of things that have a name and a size each, matched in order: by name
 * and size, or by name alone, whichever leaves less of a difference; and what has moved.
 *
 * By name alone, one more of many that are called the same would shift all that follow by one
 * place; by both, in a run with twice the sizes one layer would be taken for the next.
 */
#ifndef MODEL_ALIGN_SIZED_H
#define MODEL_ALIGN_SIZED_H

#include "model/align.h"

struct align_sized {
    const uint64_t *names, *sizes;
    size_t count;
};

/* partner[i]: the place in b that the i-th of a is matched with in order, moved[i]: out of order,
 * which is of the same name and size; or ALIGN_NONE. False: as of align.
 */
bool align_sized(const struct align_sized *a, const struct align_sized *b, size_t *partner,
                 size_t *moved);

#endif
