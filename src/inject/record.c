/* record - see record.h. */
#include "inject/record.h"

#include "inject/announce.h"
#include "inject/buffer.h"
#include "inject/context.h"
#include "inject/cpu.h"
#include "inject/process.h"
#include "inject/python.h"
#include "inject/ringfile.h"
#include "inject/sample.h"
#include "inject/sys.h"
#include "inject/thread.h"
#include "inject/whole.h"
#include "inject/window.h"
#include "tidemark.h"

#include <errno.h>

/* What pthread_atfork calls, which is no function of a shared libc. */
int __register_atfork(void (*before)(void), void (*parent)(void), void (*child)(void), void *of);
extern void *__dso_handle __attribute__((visibility("hidden")));

/* ---- the process ---- */

static bool make_home(void)
{
    if (sys_failed(sys_call(SYS_madvise, (long)&home, sizeof(home), MADV_WIPEONFORK, 0, 0, 0)))
        return false;
    home.session = process.session = 1;
    return true;
}

/* A thread is interrupted to be sampled. */
static void sampled(struct caller at)
{
    struct thread *t = record_enter(at.sp);

    if (t) {
        cpu_take(t, at);
        record_leave();
    }
}

/* A handler that interrupted a record has forked: let the child finish that record into nowhere. A
 * child that runs Python is opened at once: it may do nothing but wait, which is told by its lines.
 */
static void in_child(void)
{
    struct thread *t = local.thread;
    int kept = errno;

    cpu_forked();
    if (local.busy && t && t->ring)
        sys_call(SYS_mmap, (long)t->ring, RING_WORDS * 8, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    else if (!local.busy && t && python_is_read() &&
             record_enter((uintptr_t)__builtin_frame_address(0)))
        record_leave();
    errno = kept;
}

/* What a process needs once, whoever records it. */
static bool settle(void)
{
    if (process.session)
        return true;
    cpu_sampled_by(sampled);
    return make_home() && !__register_atfork(NULL, NULL, in_child, __dso_handle);
}

bool record_ready(void)
{
    return process_ready(settle);
}

/* We are a forked child: leave all of the parent's buffers. */
static void forked(void)
{
    struct thread *mine = local.thread ? local.thread : local.parked, *t, *next;

    for (t = atomic_load(&process.threads); t; t = next) {
        next = t->next;
        if (t->ring)
            sys_unmap(t->ring, RING_WORDS * 8);
        t->ring = NULL;
        if (t != mine)
            sys_unmap(t, sizeof(*t));
    }
    for (unsigned int i = 0; i < SPARE_THREADS; i++)
        atomic_store(&process.spare[i], NULL);
    if (mine)
        mine->next = NULL;
    atomic_store(&process.threads, mine);
    atomic_store(&process.unloading, 0);
    local.thread = local.parked = NULL;
    process.parent = atomic_load(&process.number);
    atomic_store(&process.number, 0);
    atomic_fetch_add(&process.forks, 1);
    announce_anew();
    python_forked();
    context_forked();
    whole_forked();
    process_forked();
    home.session = process.session;
    local.refused = 0;
    process_check();
    if (mine && (!process_recorded() || !thread_reopen(mine)))
        thread_spare(mine);
}

/* All that was said to the collector before is unknown to the new one. Threads find that out by
 * their session, and the caches of stacks by the generation.
 */
static void begin_anew(void)
{
    numbers_forget(&process.stacks);
    lookup_forget(&process.codes);
    lookup_forget(&process.modules);
    lookup_forget(&process.rows); /* a module is told of when a row of it is first looked for */
    python_forked();
    sample_forget_all();
    whole_begin_anew();
    window_begin_anew();
    atomic_store(&process.sampled_bytes, 0);
    atomic_store(&process.sampled_since, 0);
    process.parent = 0;
    atomic_store(&process.number, 0);
    announce_anew();
    atomic_fetch_add(&process.generation, 1);
    home.session = ++process.session;
}

int record_join(const struct ring_entry *e)
{
    record_ready();
    if (!e->alone && process_collected())
        return TIDEMARK_JOIN_BUSY;
    process_leave();
    if (e->fd < 0 && !ringfile_name(e->path))
        return TIDEMARK_JOIN_PATH;
    if (!settle())
        return TIDEMARK_JOIN_SYSTEM;
    begin_anew();
    return process_follow(e->fd) ? 0 : TIDEMARK_JOIN_RING;
}

/* ---- the thread ---- */

/* A handler jumped out of our frame when the caller is not further down than ours was. */
static bool abandoned(const struct thread *t, uintptr_t frame)
{
    return t && local.busy >= t->stack_low && local.busy <= frame && frame < t->stack_high;
}

static struct thread *find_thread(void)
{
    if (!record_ready() || process_mode() == RING_OFF)
        return NULL;
    if (!home.session)
        forked();
    if (!thread_follow())
        return NULL;
    if (local.parked && !buffer_unpark(local.parked)) {
        atomic_fetch_add_explicit(&local.parked->slot->lost, 1, memory_order_relaxed);
        return NULL;
    }
    if (local.thread && local.thread->labels_untold)
        context_tell(local.thread);
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
