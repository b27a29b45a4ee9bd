/* pycheck - the frames of a Python program that is interrupted anywhere, as often as can be.
 *
 * Built into a copy of the library. A thread sends signals to the main thread; the handler takes
 * its stack. When the program ends, stderr says how many stacks were taken, how many had Python
 * frames, how many were torn, and what one cost.
 */
#include "inject/python.h"
#include "inject/record.h"
#include "inject/sys.h"
#include "inject/unwind.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define SIGNAL (SIGRTMIN + 9)

static unsigned long looks, with_python, calling, ns;
static int target;
static _Atomic bool ending, pending;

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void look(struct thread *t, const greg_t *r)
{
    uint64_t start = now_ns();
    struct python_place p;

    unwind_interrupted(t, (uintptr_t)r[REG_RIP], (uintptr_t)r[REG_RSP], (uintptr_t)r[REG_RBP]);
    p = python_place(t, (uintptr_t)r[REG_RIP]);
    ns += now_ns() - start;
    looks++;
    with_python += p.python;
    calling += p.calling;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    const greg_t *r = ((const ucontext_t *)context)->uc_mcontext.gregs;
    int kept = errno;
    uint8_t quiet = local.quiet;
    struct thread *t;

    (void)number;
    (void)info;
    pending = false;
    if (local.busy || !python_any())
        return;
    local.quiet = 1;
    t = record_enter((uintptr_t)r[REG_RSP]);
    if (t) {
        look(t, r);
        record_leave();
    }
    local.quiet = quiet;
    errno = kept;
}

static void *send(void *unused)
{
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    while (!ending) {
        sys_pause_us(10); /* who sleeps is let in again soon, however busy the machine is */
        if (!atomic_exchange(&pending, true))
            sys_call(SYS_tgkill, sys_pid(), target, SIGNAL, 0, 0, 0);
    }
    return unused;
}

__attribute__((constructor)) static void start(void)
{
    struct sigaction a = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    pthread_t thread;

    if (!getenv(RING_ENV))
        return;
    target = sys_tid();
    sigaction(SIGNAL, &a, NULL);
    pthread_create(&thread, NULL, send, NULL);
}

__attribute__((destructor)) static void report(void)
{
    struct thread *t = local.thread;

    ending = true;
    if (looks)
        dprintf(2, "PYCHECK looks %lu python %lu calling %lu torn %lu ns %lu\n", looks, with_python,
                calling, t ? (unsigned long)t->slot->torn : 0, ns / looks);
}
