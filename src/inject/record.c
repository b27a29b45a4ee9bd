/* record - the long way into a record: the first of a thread, after a fork, from inside another. */
#include "inject/buffer.h"
#include "inject/process.h"
#include "inject/sys.h"
#include "inject/thread.h"

#include <errno.h>

__thread struct local local __attribute__((tls_model("initial-exec")));

/* A handler jumped out of our frame when the caller is not further down than ours was. */
static bool abandoned(const struct thread *t, uintptr_t frame)
{
    return t && local.busy >= t->stack_low && local.busy <= frame && frame < t->stack_high;
}

static struct thread *find_thread(void)
{
    if (!process_ready() || process_mode() == RING_OFF)
        return NULL;
    if (!home.session)
        process_forked();
    if (!thread_follow())
        return NULL;
    if (local.parked && !buffer_unpark(local.parked)) {
        atomic_fetch_add_explicit(&local.parked->slot->lost, 1, memory_order_relaxed);
        return NULL;
    }
    return local.thread ? local.thread : thread_new();
}

struct thread *record_enter_slow(uintptr_t frame)
{
    int kept = errno;
    struct thread *t = local.thread;

    if (local.busy) {
        if (!abandoned(t, frame)) {
            if (t && t->session == home.session && !local.ours)
                atomic_fetch_add_explicit(&t->slot->nested, 1, memory_order_relaxed);
            return NULL;
        }
        buffer_mend(t);
    }
    local.busy = frame;
    t = find_thread();
    if (!t)
        local.busy = 0;
    errno = kept;
    return t;
}
