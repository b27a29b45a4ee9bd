/* thread - see thread.h.
 *
 * A thread's end is noticed by the last round of its key destructors. Events after that (of
 * destructors that run even later) open another ring, which the collector takes back when the
 * thread is gone.
 */
#include "inject/thread.h"

#include "inject/announce.h"
#include "inject/buffer.h"
#include "inject/context.h"
#include "inject/cpu.h"
#include "inject/launch_tell.h"
#include "inject/ownstack.h"
#include "inject/process.h"
#include "inject/real.h"
#include "inject/sys.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

enum { NO_KEY, MAKING_KEY, KEY };

static pthread_key_t key;
static _Atomic int key_state;

static void put_by(struct thread *t)
{
    for (unsigned int i = 0; i < SPARE_THREADS; i++) {
        struct thread *none = NULL;

        if (atomic_compare_exchange_strong(&process.spare[i], &none, t))
            return;
    }
}

void thread_spare(struct thread *t)
{
    t->session = 0;
    put_by(t);
}

/* The value counts rounds. */
static void thread_ends(void *rounds)
{
    struct thread *t = local.thread;

    if (local.busy || !t || t->session != home.session)
        return;
    local.busy = 1;
    if ((uintptr_t)rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        real.pthread_setspecific(key, (char *)rounds + 1);
        local.busy = 0;
        return;
    }
    cpu_end(t);
    launch_tell_all(t);
    buffer_free(t, RING_THREAD_END);
    local.thread = NULL;
    local.ended = 1;
    if (!local.parked)
        put_by(t);
    local.parked = NULL;
    local.busy = 0;
}

/* A libc before 2.34 has none where there are no threads; then with the first of them. */
static bool have_key(void)
{
    int none = NO_KEY;

    if (atomic_compare_exchange_strong(&key_state, &none, MAKING_KEY))
        atomic_store(&key_state,
                     real_now()->pthread_key_create(&key, thread_ends) == 0 ? KEY : NO_KEY);
    return atomic_load(&key_state) == KEY;
}

static struct thread *take_spare(void)
{
    for (unsigned int i = 0; i < SPARE_THREADS; i++) {
        struct thread *t = atomic_exchange(&process.spare[i], NULL);

        if (t)
            return t;
    }
    return NULL;
}

static struct thread *make(void)
{
    struct thread *t = sys_memory(sizeof(*t));

    if (!t) {
        buffer_refused();
        return NULL;
    }
    t->tid = sys_tid();
    t->generation = atomic_load(&process.generation);
    if (!buffer_open(t, process_number())) {
        sys_unmap(t, sizeof(*t));
        return NULL;
    }
    t->next = atomic_load(&process.threads);
    while (!atomic_compare_exchange_weak(&process.threads, &t->next, t))
        ;
    return t;
}

/* From the ring of an earlier recording to one of this. Only its own thread may write to the old
 * one, so nobody misses it.
 */
static bool move(struct thread *t)
{
    if (t->ring)
        sys_unmap(t->ring, RING_WORDS * 8);
    t->ring = NULL;
    t->tid = sys_tid();
    t->creator = 0; /* a stack that this recording does not know */
    return buffer_open(t, process_number());
}

bool thread_follow(void)
{
    struct thread *t = local.thread ? local.thread : local.parked;

    if (!t || t->session == home.session)
        return true;
    local.thread = local.parked = NULL;
    if (!move(t)) {
        local.parked = t; /* as if its ring were full: asked again next time */
        return false;
    }
    local.thread = t;
    announce_thread(t);
    cpu_begin(t);
    return true;
}

/* Memory that another thread has left, with its ring if that is of this recording. */
static struct thread *take_over(void)
{
    struct thread *t = sys_silent ? NULL : take_spare();

    if (!t)
        return make();
    if (t->session == home.session) {
        t->tid = sys_tid();
        atomic_store(&t->slot->tid, (uint32_t)t->tid);
        return t;
    }
    if (move(t))
        return t;
    thread_spare(t);
    return NULL;
}

struct thread *thread_new(void)
{
    struct thread *t = buffer_may_open() ? take_over() : NULL;

    if (!t)
        return NULL;
    t->tstate = 0;
    t->creator = local.birth ? local.birth->creator : 0;
    if (local.birth && local.birth->stack_low)
        ownstack_set(t, local.birth->stack_low, local.birth->stack_high);
    else
        ownstack_find(t);
    if (!local.ended && have_key())
        real.pthread_setspecific(key, (void *)1);
    local.thread = t;
    context_begin(t);
    announce_thread(t);
    cpu_begin(t);
    return t;
}

bool thread_reopen(struct thread *t)
{
    t->tid = sys_tid();
    t->tstate = 0; /* the new process has to tell of its interpreter */
    if (!buffer_open(t, process_number()))
        return false;
    local.thread = t;
    announce_thread(t);
    cpu_begin(t);
    return true;
}
