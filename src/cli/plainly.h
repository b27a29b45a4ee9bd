/* plainly - the command as if there were no recorder: where it cannot be recorded, it runs all the
 * same.
 */
#ifndef CLI_PLAINLY_H
#define CLI_PLAINLY_H

#include "base/err.h"
#include "watch/watch.h"

#include <signal.h>

/* Say why and become the command, with the limits that we were started under and these signals
 * blocked; `mute`: without its output. -1 with *why: there is no such command, or it cannot be run.
 */
int plainly_become(char *const *argv, const sigset_t *mask, bool mute, struct err *why);

/* Should memory run out: the command is started nevertheless or, where it runs already, waited for,
 * and its status is ours. The trace at *path goes where it was never begun. All must stay as long
 * as the watch.
 */
void plainly_after_all(const struct watch_options *w, const struct watch_result *r,
                       const char *const *path);

/* The watch is over: from now on only what is added to the trace at its end can be missing. */
void plainly_ended(void);

#endif
