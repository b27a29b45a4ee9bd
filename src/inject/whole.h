/* whole - in sampled mode, blocks of at least a limit are recorded each: they are few, and hold
 * most of the memory. Where they are not few the limit rises for a time, and the trace is told.
 * Of a process that has loaded a framework of deep learning the limit is a lower one: its tensors.
 */
#ifndef INJECT_WHOLE_H
#define INJECT_WHOLE_H

#include "inject/state.h"

#define WHOLE_NONE ((uint64_t)1 << 62) /* a limit that no block reaches */

/* The limit in bytes, now. */
uint64_t whole_from(void);

/* The process has loaded this framework: the limit for such holds from here on. */
void whole_for(const char *library);
/* What whole_for was told; NULL: nothing. */
const char *whole_library(void);

/* Is nothing of these blocks to be lost, so that who finds its ring full waits? */
bool whole_waits(void);

/* One was recorded, or (count 0) a smaller block was sampled: time to look whether the limit is
 * right. The limit from here on, where this has changed it: for the caller to tell; else 0.
 */
uint64_t whole_adapt(unsigned int count);

/* Is the trace to be told of the limit for a framework before the next block? True once. */
bool whole_untold(void);

/* A new recording: nothing was counted. A forked child: it has told nothing. */
void whole_begin_anew(void);
void whole_forked(void);

#endif
