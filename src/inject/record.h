/* record - the way into a record: this process and this thread as the collector sees them, begun at
 * the first record, anew after a fork and in another recording.
 */
#ifndef INJECT_RECORD_H
#define INJECT_RECORD_H

#include "inject/state.h"

/* Is it known whether this process is recorded? False: it is too early. */
bool record_ready(void);

/* Be recorded by the collector with this ring from now on; 0, or a TIDEMARK_JOIN_... number. */
int record_join(const struct ring_entry *e);

/* Begin to record in this thread: NULL when nothing shall be recorded now (not recorded at all, or
 * already inside, which is counted). With a thread, record_leave must follow.
 */
struct thread *record_enter_slow(uintptr_t frame);

static inline struct thread *record_enter(uintptr_t frame)
{
    struct thread *t = local.thread;

    if (unlikely(!t || local.busy || t->session != home.session))
        return record_enter_slow(frame);
    local.busy = frame;
    __asm__ volatile("" ::: "memory");
    return t;
}

static inline void record_leave(void)
{
    __asm__ volatile("" ::: "memory");
    local.busy = 0;
}

#endif
