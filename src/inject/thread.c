/* thread - see threads.h.
 *
 * A thread's end is noticed by the last round of its key destructors. Events after that (of
 * destructors that run even later) open another ring, which the collector takes back when the
 * thread is gone.
 */
#include "inject/thread.h"

#include "inject/buffer.h"
#include "inject/cpu.h"
#include "inject/process.h"
#include "inject/real.h"
#include "inject/sys.h"

#include <limits.h>
#include <pthread.h>
#include <string.h>

#define MAIN_STACK_MOST                                                                            \
    (128u << 20) /* the kernel maps nothing else so near below the stack's top */

extern void *__libc_stack_end;

static pthread_key_t key;

/* The value counts rounds. */
static void thread_ends(void *rounds)
{
    struct thread *t = local.thread;

    if (local.busy || !t || t->session != home.session)
        return;
    local.busy = 1;
    if ((uintptr_t)rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(key, (char *)rounds + 1);
        local.busy = 0;
        return;
    }
    cpu_end(t);
    buffer_free(t, RING_THREAD_END);
    local.thread = NULL;
    local.ended = 1;
    for (unsigned int i = 0; i < SPARE_THREADS && !local.parked; i++) {
        struct thread *none = NULL;

        if (atomic_compare_exchange_strong(&process.spare[i], &none, t))
            break;
    }
    local.parked = NULL;
    local.busy = 0;
}

bool thread_start(void)
{
    return pthread_key_create(&key, thread_ends) == 0;
}

static void set_stack(struct thread *t, uintptr_t low, uintptr_t high)
{
    if (t->stack_high && (low != t->stack_low || high != t->stack_high))
        memset(t->memo.entries, 0, sizeof(t->memo.entries));
    t->stack_low = low;
    t->stack_high = high;
}

/* pthread_getattr_np allocates, which our hooks let pass, and holds a lock of the thread meanwhile. A
 * handler that interrupted malloc must not do the one, the program's own pthread_getattr_np that
 * allocates must not wait for the other: a thread whose first record is of such a kind has no known
 * stack at first.
 */
void thread_find_stack(struct thread *t)
{
    uintptr_t low = UINTPTR_MAX, high = 0;
    pthread_attr_t attr;
    void *at;
    size_t size;

    local.ours = 1;
    if (t->tid == sys_pid()) {
        high = (uintptr_t)__libc_stack_end + 16;
        low = high - MAIN_STACK_MOST;
    } else if (!local.quiet && !local.asks && !sys_silent &&
               real_now()->pthread_getattr_np(pthread_self(), &attr) == 0) {
        if (pthread_attr_getstack(&attr, &at, &size) == 0) {
            low = (uintptr_t)at;
            high = (uintptr_t)at + size;
        }
        pthread_attr_destroy(&attr);
    }
    local.ours = 0;
    set_stack(t, low, high);
}

EXPORT int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
    uint8_t before = local.asks;
    int result;

    local.asks = 1;
    result = real_now()->pthread_getattr_np(thread, attr);
    local.asks = before;
    return result;
}

static void announce(struct thread *t)
{
    uint64_t words[3] = {
        t->stack_low, t->stack_high > t->stack_low ? t->stack_high - t->stack_low : 0, t->creator};

    process_announce(t);
    buffer_now(t);
    buffer_put(t, buffer_word(RING_THREAD, 0, (uintptr_t)t->tid), words, 3, NULL, 0);
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
        atomic_fetch_add(&process.control->no_slot, 1);
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
    announce(t);
    cpu_begin(t);
    return true;
}

struct thread *thread_new(void)
{
    struct thread *t = sys_silent ? NULL : take_spare();

    if (!t) {
        t = make();
    } else if (t->session == home.session) {
        t->tid = sys_tid();
        atomic_store(&t->slot->tid, (uint32_t)t->tid);
    } else {
        t = move(t) ? t : NULL;
    }
    if (!t)
        return NULL;
    t->creator = local.birth ? local.birth->creator : 0;
    if (local.birth && local.birth->stack_low)
        set_stack(t, local.birth->stack_low, local.birth->stack_high);
    else
        thread_find_stack(t);
    if (!local.ended)
        pthread_setspecific(key, (void *)1);
    local.thread = t;
    announce(t);
    cpu_begin(t);
    return t;
}

bool thread_reopen(struct thread *t)
{
    t->tid = sys_tid();
    local.thread = t;
    if (!buffer_open(t, process_number()))
        return false;
    announce(t);
    cpu_begin(t);
    return true;
}
