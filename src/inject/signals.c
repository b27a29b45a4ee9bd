/* signals - the program's own use of signals, so that ours stays ours and unseen.
 *
 * Many programs block all signals in threads that shall not be disturbed, or wait for all of them
 * at once. Ours is taken out of such sets, and put back where the program reads what it has set. A
 * program that names our signal among few others wants to use it: then it is the program's.
 */
#include "inject/cpu.h"
#include "inject/faults.h"
#include "inject/real.h"
#include "inject/sys.h"

#include <signal.h>
#include <sys/signalfd.h>

#define MEANT_MOST 8 /* real-time signals in a set that names each */

static bool holds(const sigset_t *set, int number)
{
    return set->__val[0] >> (number - 1) & 1;
}

/* The set without our signal, which becomes the program's if it is meant; *copy has the room. */
static const sigset_t *without_ours(const sigset_t *set, sigset_t *copy)
{
    int ours = cpu_signal();

    if (!set || !ours || !holds(set, ours))
        return set;
    if (__builtin_popcountll(set->__val[0] >> 33) <= MEANT_MOST) {
        cpu_yield();
        return set;
    }
    *copy = *set;
    sys_drop(copy, ours);
    return copy;
}

/* `real` is pthread_sigmask or sigprocmask. local.masked: what the program believes of our signal.
 */
static int set_without_ours(mask_function *change, int how, const sigset_t *set, sigset_t *before)
{
    sigset_t copy;
    int ours, result;
    bool was, named;
    const sigset_t *given = how == SIG_UNBLOCK ? set : without_ours(set, &copy);

    ours = cpu_signal();
    if (!ours)
        return change(how, set, before);
    was = local.masked;
    named = set && holds(set, ours);
    result = change(how, given, before);
    if (result)
        return result;
    if (before && was)
        before->__val[0] |= 1ul << (ours - 1);
    if (set)
        local.masked = how == SIG_SETMASK ? named : how == SIG_BLOCK ? was || named : was && !named;
    return 0;
}

static int set_mask(mask_function *change, int how, const sigset_t *set, sigset_t *before)
{
    sigset_t copy, asked = {{0}};
    int result;

    if (!faults_any())
        return set_without_ours(change, how, set, before);
    if (set)
        asked = *set; /* it may be where the answer goes */
    result = set_without_ours(change, how,
                              how == SIG_UNBLOCK ? set : faults_never_blocked(set, &copy), before);
    if (!result && before)
        faults_show(before);
    if (!result && set)
        faults_believe(how, &asked);
    return result;
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    return set_mask(real_now()->pthread_sigmask, how, set, before);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *before)
{
    return set_mask(real_now()->sigprocmask, how, set, before);
}

EXPORT int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    if (number && number == cpu_signal()) {
        if (!action) {
            if (before)
                *before = (struct sigaction){.sa_handler = SIG_DFL};
            return 0;
        }
        cpu_yield();
    }
    if (faults_any())
        return faults_action(number, action, before);
    return real_now()->sigaction(number, action, before);
}

/* signal(2) for a signal that we have in our hands. */
static sighandler_t set_handler(int number, sighandler_t handler, int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, before;

    faults_action(number, &action, &before);
    return before.sa_handler;
}

EXPORT sighandler_t signal(int number, sighandler_t handler)
{
    if (number && number == cpu_signal())
        cpu_yield();
    if (faults_is_ours(number))
        return set_handler(number, handler, SA_RESTART);
    return real_now()->signal(number, handler);
}

/* What `signal` is to those who ask for an old standard. */
EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler)
{
    if (number && number == cpu_signal())
        cpu_yield();
    if (faults_is_ours(number))
        return set_handler(number, handler, (int)(SA_RESETHAND | SA_NODEFER));
    return real_now()->sysv_signal(number, handler);
}

EXPORT int sigwait(const sigset_t *set, int *number)
{
    sigset_t copy;

    return real_now()->sigwait(without_ours(set, &copy), number);
}

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
    sigset_t copy;

    return real_now()->sigwaitinfo(without_ours(set, &copy), info);
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
    sigset_t copy;

    return real_now()->sigtimedwait(without_ours(set, &copy), info, timeout);
}

EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
    sigset_t copy;

    return real_now()->signalfd(fd, without_ours(set, &copy), flags);
}
