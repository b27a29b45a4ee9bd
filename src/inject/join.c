/* join - to be recorded from now on, and no longer: what `tidemark attach` calls in a process that
 * it has loaded us into, and a process that loads us itself. See include/tidemark.h.
 */
#include "inject/cpu.h"
#include "inject/device_watch.h"
#include "inject/event.h"
#include "inject/frameworks.h"
#include "inject/got.h"
#include "inject/process.h"
#include "inject/pymem.h"
#include "inject/python.h"
#include "inject/record.h"
#include "inject/sys.h"
#include "inject/torch_start.h"
#include "inject/watching.h"
#include "tidemark.h"

#include <errno.h>
#include <string.h>

/* What `tidemark attach` calls, of a thread that it has borrowed: see struct ring_entry. */
long tidemark_enter(const struct ring_entry *e);
long tidemark_quit(void);

static int join(const struct ring_entry *e)
{
    int kept = errno, failed;

    sys_set_never(e->never);
    failed = record_join(e);
    if (!failed) {
        got_take_over();
        python_start();
        event_start(); /* the process shows itself, should it never allocate */
        if (process_recorded() && !local.thread) {
            got_give_back();
            process_leave();
            failed = TIDEMARK_JOIN_THREAD;
        }
        pymem_start();
        if (frameworks_came())
            event_limit_fell();
        torch_start_came();
        cpu_settle();
    }
    errno = kept;
    return failed;
}

static void leave(void)
{
    int kept = errno;

    process_leave();
    device_watch_leave();
    watching_leave();
    cpu_leave();
    got_give_back();
    errno = kept;
}

EXPORT int tidemark_join(const char *ring)
{
    struct ring_entry e = {.fd = -1};

    if (ring && strlen(ring) < sizeof(e.path))
        memcpy(e.path, ring, strlen(ring) + 1);
    return join(&e);
}

EXPORT void tidemark_leave(void)
{
    leave();
}

EXPORT long tidemark_enter(const struct ring_entry *e)
{
    return RING_ANSWER + join(e);
}

EXPORT long tidemark_quit(void)
{
    leave();
    return RING_ANSWER;
}
