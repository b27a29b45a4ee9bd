/* whole - in sampled mode, blocks of at least a limit are recorded each: they are few, and hold
 * most of the memory. Where they are not few the limit rises for a time, and the trace is told.
 */
#ifndef INJECT_WHOLE_H
#define INJECT_WHOLE_H

#include "inject/state.h"

#define WHOLE_NONE ((uint64_t)1 << 62) /* a limit that no block reaches */

/* The limit in bytes, now. */
uint64_t whole_from(void);

/* One was recorded, or (count 0) a smaller block was sampled: time to look whether the limit is
 * right. The limit from here on, where this has changed it: for the caller to tell; else 0.
 */
uint64_t whole_adapt(unsigned int count);

/* A new recording: nothing was counted. */
void whole_begin_anew(void);

#endif
