/* sys - system calls without libc: no errno is touched, no hook of ours is called. */
#ifndef INJECT_SYS_H
#define INJECT_SYS_H

#include "arch/arch.h"
#include "trace/ring.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

/* The process is confined: every call fails, instead of ending it. */
extern bool sys_silent __attribute__((visibility("hidden")));

/* An attached process whose filter may punish some calls: those fail as well. */
extern bool sys_narrow __attribute__((visibility("hidden")));
void sys_set_never(const uint64_t never[RING_CALLS / 64]);
bool sys_never(long number);

static inline long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
    if (__builtin_expect(sys_silent, 0) || (__builtin_expect(sys_narrow, 0) && sys_never(number)))
        return -ENOSYS;
    return arch_system_call(number, a, b, c, d, e, f);
}

static inline int sys_failed(long result)
{
    return (unsigned long)result >= (unsigned long)-4095;
}

/* Zeroed private memory, named for those who read the maps; NULL when there is none. */
void *sys_memory(size_t bytes);
void sys_unmap(void *at, size_t bytes);
/* A shared window of a file; NULL on failure. */
void *sys_share(int fd, uint64_t offset, size_t bytes);
/* The same file as `page` is of, so many bytes behind that page's start; no descriptor, path or
 * right is needed, but for a moment as much room for addresses as is skipped.
 */
void *sys_share_again(const void *page, size_t skip, size_t bytes);
typedef int sys_clock_function(clockid_t clock, struct timespec *now);
void sys_set_clock(sys_clock_function *function); /* which may be NULL: the kernel is asked */
void sys_clock(clockid_t clock, struct timespec *now);
uint64_t sys_now_ns(void); /* CLOCK_MONOTONIC */
void sys_pause_us(long us);
static inline void sys_drop(sigset_t *set, int signal) /* out of the set */
{
    set->__val[0] &= ~(1ul << (signal - 1));
}

#define SYS_DIGITS 12
void sys_number(char out[SYS_DIGITS], int number); /* not below 0, as text */
int sys_tid(void);
int sys_pid(void);

#endif
