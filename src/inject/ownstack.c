/* ownstack - see ownstack.h. */
#include "inject/ownstack.h"

#include "inject/memo.h"
#include "inject/real.h"
#include "inject/sys.h"

#include <pthread.h>

#define MAIN_STACK_MOST                                                                            \
    (128u << 20) /* the kernel maps nothing else so near below the stack's top */

extern void *__libc_stack_end;

void ownstack_set(struct thread *t, uintptr_t low, uintptr_t high)
{
    if (t->stack_high && (low != t->stack_low || high != t->stack_high))
        memo_forget(&t->memo);
    t->stack_low = low;
    t->stack_high = high;
}

/* pthread_getattr_np allocates, which our hooks let pass, and holds a lock of the thread meanwhile.
 * A handler that interrupted malloc must not do the one, the program's own pthread_getattr_np that
 * allocates must not wait for the other: a thread whose first record is of such a kind has no known
 * stack at first.
 */
void ownstack_find(struct thread *t)
{
    uintptr_t low = UINTPTR_MAX, high = 0;
    pthread_attr_t attr;
    void *at;
    size_t size;

    local.ours = 1;
    if (t->tid == sys_pid()) {
        high = (uintptr_t)__libc_stack_end + 16;
        low = high - MAIN_STACK_MOST;
    } else if (!local.quiet && !local.asks && !sys_silent && !sys_never(SYS_sched_getaffinity) &&
               real_now()->pthread_getattr_np(pthread_self(), &attr) == 0) {
        if (real.pthread_attr_getstack(&attr, &at, &size) == 0) {
            low = (uintptr_t)at;
            high = (uintptr_t)at + size;
        }
        pthread_attr_destroy(&attr);
    }
    local.ours = 0;
    ownstack_set(t, low, high);
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
