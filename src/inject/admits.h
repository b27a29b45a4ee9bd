/* admits - whether a program that is about to be started can be given our library, and by which
 * name.
 *
 * Nothing is kept open or allocated: it may be between vfork and exec.
 */
#ifndef INJECT_ADMITS_H
#define INJECT_ADMITS_H

#include "preload/preload.h"
#include "preload/program.h"
#include "trace/ring.h"

#include <stdbool.h>

/* Once, while the library is where it was loaded from: remember what its file and the loader's are.
 * A name that is good only for now is taken out of the environment.
 */
void admits_start(void);

/* Whether this name of the library is good only as long as the collector lives: then a program that
 * does not load the library at once must not hand it on, as another process may get the collector's
 * number.
 */
bool admits_for_now(const struct preload *p);

/* What the environment of a child shall have of ours; false: leave it as it is. The root, or what
 * is mounted, may have changed: where the library can no longer be seen, each program would
 * complain of it. So it is named otherwise there, or taken out, recorded or not.
 */
bool admits_preload(struct preload *out);

/* Why nothing will come of a program that admits_preload has taken the library from. */
enum ring_start admits_why_not(void);

/* Whether this program is the loader that we were loaded by: it is told what to run. */
bool admits_is_our_loader(int program);

/* Whether the loader that this program names is of a libc that our library can be loaded with. */
bool admits_loader(int program, program_read *read);

#endif
