/* launch_tell - launches that a thread has counted (launches.h) become records. It is in a record.
 */
#ifndef INJECT_LAUNCH_TELL_H
#define INJECT_LAUNCH_TELL_H

#include "inject/state.h"

void launch_tell(struct thread *t, struct launch *e);

/* All that it has not told yet. */
void launch_tell_all(struct thread *t);

#endif
