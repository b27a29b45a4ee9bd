/* restart - see restart.h. */
#include "inject/restart.h"

#include "inject/cpu.h"
#include "inject/faults.h"
#include "inject/real.h"
#include "inject/state.h"
#include "inject/sys.h"

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000u
#define LONGEST_S 1000000000 /* what is left of more is not worth counting */
#define COARSE_NS 10000000u  /* the most that the clock below may be behind */

/* ---- a wait ---- */

struct wait {
    uint64_t from; /* by the clock that costs least; 0: nobody takes samples */
    int kept;
    bool repeated;
};

static inline uint64_t coarse_ns(void)
{
    struct timespec t = {0};

    sys_clock(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

static inline struct wait begin(void)
{
    struct wait w = {.from = cpu_signal() ? coarse_ns() : 0, .kept = errno};

    local.cut = 0;
    return w;
}

/* After each attempt that was interrupted or not: has a sample ended it? */
static inline bool again(struct wait *w, bool interrupted)
{
    bool ours = local.cut && interrupted;

    local.cut = 0;
    if (unlikely(ours)) {
        errno = w->kept;
        w->repeated = true;
    }
    return ours;
}

static inline bool failed_again(struct wait *w, long result)
{
    return again(w, result < 0 && errno == EINTR);
}

static uint64_t rest_ns(const struct wait *w, uint64_t whole)
{
    uint64_t gone = w->from && w->repeated ? coarse_ns() - w->from : 0;

    gone = gone > COARSE_NS ? gone - COARSE_NS : 0;
    return gone < whole ? whole - gone : 0;
}

/* What is left of a time: all of it at first. Later the kernel has read it, so it is there. */
static const struct timespec *rest(const struct wait *w, const struct timespec *whole,
                                   struct timespec *left)
{
    uint64_t ns;

    if (!w->repeated || !whole || whole->tv_sec >= LONGEST_S)
        return whole;
    ns = rest_ns(w, (uint64_t)whole->tv_sec * SECOND_NS + (uint64_t)whole->tv_nsec);
    *left = (struct timespec){(time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS)};
    return left;
}

static int rest_ms(const struct wait *w, int whole)
{
    if (!w->repeated || whole <= 0)
        return whole;
    return (int)((rest_ns(w, (uint64_t)whole * 1000000u) + 999999u) / 1000000u);
}

/* ---- for descriptors ---- */

EXPORT int poll(struct pollfd *fds, nfds_t count, int ms)
{
    struct wait w = begin();
    int result;

    do
        result = real_now()->poll(fds, count, rest_ms(&w, ms));
    while (failed_again(&w, result));
    return result;
}

EXPORT int __poll_chk(struct pollfd *fds, nfds_t count, int ms, size_t room)
{
    struct wait w = begin();
    int result;

    do
        result = real_now()->poll_chk(fds, count, rest_ms(&w, ms), room);
    while (failed_again(&w, result));
    return result;
}

EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *time,
                 const sigset_t *mask)
{
    struct wait w = begin();
    struct timespec left;
    sigset_t copy;
    int result;

    do
        result = real_now()->ppoll(fds, count, rest(&w, time, &left),
                                   faults_never_blocked(mask, &copy));
    while (failed_again(&w, result));
    return result;
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t count, const struct timespec *time,
                       const sigset_t *mask, size_t room)
{
    struct wait w = begin();
    struct timespec left;
    sigset_t copy;
    int result;

    do
        result = real_now()->ppoll_chk(fds, count, rest(&w, time, &left),
                                       faults_never_blocked(mask, &copy), room);
    while (failed_again(&w, result));
    return result;
}

/* Linux leaves in `time` what is left of it. */
EXPORT int select(int count, fd_set *in, fd_set *out, fd_set *odd, struct timeval *time)
{
    struct wait w = begin();
    int result;

    do
        result = real_now()->select(count, in, out, odd, time);
    while (failed_again(&w, result));
    return result;
}

EXPORT int pselect(int count, fd_set *in, fd_set *out, fd_set *odd, const struct timespec *time,
                   const sigset_t *mask)
{
    struct wait w = begin();
    struct timespec left;
    sigset_t copy;
    int result;

    do
        result = real_now()->pselect(count, in, out, odd, rest(&w, time, &left),
                                     faults_never_blocked(mask, &copy));
    while (failed_again(&w, result));
    return result;
}

/* ---- for a time ---- */

/* What is left is told only at the end: a program may have it written to where the time stands. */
static void tell(struct timespec *remaining, const struct timespec *left, bool interrupted)
{
    if (interrupted && remaining)
        *remaining = *left;
}

EXPORT int nanosleep(const struct timespec *time, struct timespec *remaining)
{
    struct wait w = begin();
    struct timespec next, left;
    int result;

    do
        result = real_now()->nanosleep(rest(&w, time, &next), &left);
    while (failed_again(&w, result));
    tell(remaining, &left, result < 0 && errno == EINTR);
    return result;
}

EXPORT int thrd_sleep(const struct timespec *time, struct timespec *remaining)
{
    struct wait w = begin();
    struct timespec next, left;
    int result;

    do
        result = real_now()->thrd_sleep(rest(&w, time, &next), &left);
    while (again(&w, result == -1));
    tell(remaining, &left, result == -1);
    return result;
}

/* Until a moment, for a time, or for a time of a clock that need not go on. */
static const struct timespec *rest_of_clock(const struct wait *w, clockid_t clock, int flags,
                                            const struct timespec *time,
                                            const struct timespec *left, struct timespec *next)
{
    if (!w->repeated || flags & TIMER_ABSTIME)
        return time;
    if (clock >= 0 && clock != CLOCK_PROCESS_CPUTIME_ID)
        return rest(w, time, next);
    *next = *left;
    return next;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                           struct timespec *remaining)
{
    struct wait w = begin();
    struct timespec next, left;
    int error;

    do
        error = real_now()->clock_nanosleep(
            clock, flags, rest_of_clock(&w, clock, flags, time, &left, &next), &left);
    while (again(&w, error == EINTR));
    tell(remaining, &left, error == EINTR && !(flags & TIMER_ABSTIME));
    return error;
}

EXPORT int usleep(useconds_t us)
{
    struct wait w = begin();
    int result;

    do
        result = real_now()->usleep((useconds_t)(rest_ns(&w, (uint64_t)us * 1000) / 1000));
    while (failed_again(&w, result));
    return result;
}

/* It tells whole seconds alone, so what is left goes another way. */
EXPORT unsigned int sleep(unsigned int seconds)
{
    struct wait w = begin();
    struct timespec whole = {seconds, 0}, next, left;
    unsigned int result = real_now()->sleep(seconds);

    while (again(&w, true))
        result = real.nanosleep(rest(&w, &whole, &next), &left) < 0 ? (unsigned int)left.tv_sec : 0;
    return result;
}

/* ---- for others ---- */

EXPORT int sem_timedwait(sem_t *semaphore, const struct timespec *until)
{
    struct wait w = begin();
    int result;

    do
        result = real_now()->sem_timedwait(semaphore, until);
    while (failed_again(&w, result));
    return result;
}

EXPORT int sem_clockwait(sem_t *semaphore, clockid_t clock, const struct timespec *until)
{
    struct wait w = begin();
    int result;

    do
        result = real_now()->sem_clockwait(semaphore, clock, until);
    while (failed_again(&w, result));
    return result;
}

EXPORT ssize_t msgrcv(int queue, void *message, size_t size, long type, int flags)
{
    struct wait w = begin();
    ssize_t result;

    do
        result = real_now()->msgrcv(queue, message, size, type, flags);
    while (failed_again(&w, result));
    return result;
}

EXPORT int msgsnd(int queue, const void *message, size_t size, int flags)
{
    struct wait w = begin();
    int result;

    do
        result = real_now()->msgsnd(queue, message, size, flags);
    while (failed_again(&w, result));
    return result;
}

EXPORT int pause(void)
{
    struct wait w = begin();
    int result;

    do
        result = real_now()->pause();
    while (failed_again(&w, result));
    return result;
}

EXPORT int sigsuspend(const sigset_t *mask)
{
    struct wait w = begin();
    sigset_t copy;
    int result;

    do
        result = real_now()->sigsuspend(faults_never_blocked(mask, &copy));
    while (failed_again(&w, result));
    return result;
}
