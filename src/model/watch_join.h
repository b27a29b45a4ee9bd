/* watch_join - writes by one line of one function, in one call of it, are one row: a loop that a
 * compiler has unrolled writes from many instructions, and what has no lines is told by its
 * functions. It needs the frames, so it is done when all of a trace was taken.
 */
#ifndef MODEL_WATCH_JOIN_H
#define MODEL_WATCH_JOIN_H

#include "model/frames.h"
#include "model/watches.h"

void watch_join(struct watches *w, const struct frames *f);

#endif
