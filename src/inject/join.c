/* join - to be recorded from now on, and no longer: what `tidemark attach` calls in a process that
 * it has loaded us into, and a process that loads us itself. See include/tidemark.h.
 */
#include "inject/cpu.h"
#include "inject/event.h"
#include "inject/got.h"
#include "inject/process.h"
#include "inject/pymem.h"
#include "inject/python.h"
#include "tidemark.h"

#include <errno.h>

EXPORT int tidemark_join(const char *ring)
{
    int kept = errno, failed = process_join(ring);

    if (!failed) {
        got_copies();
        got_take_over();
        python_start();
        event_start(); /* the process shows itself, should it never allocate */
        if (process_recorded() && !local.thread) {
            got_give_back();
            process_leave();
            failed = TIDEMARK_JOIN_THREAD;
        }
        pymem_start();
        cpu_settle();
    }
    errno = kept;
    return failed;
}

EXPORT void tidemark_leave(void)
{
    int kept = errno;

    process_leave();
    cpu_leave();
    got_give_back();
    errno = kept;
}
