/* sys - see sys.h. */
#include "inject/sys.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

bool sys_silent, sys_narrow;
static uint64_t not_to_make[RING_CALLS / 64];

void sys_set_never(const uint64_t never[RING_CALLS / 64])
{
    memcpy(not_to_make, never, sizeof(not_to_make));
    sys_narrow = false;
    for (unsigned int i = 0; i < RING_CALLS / 64; i++)
        sys_narrow |= never[i] != 0;
}

bool sys_never(long number)
{
    return number < RING_CALLS && not_to_make[number / 64] >> number % 64 & 1;
}

void *sys_memory(size_t bytes)
{
    long at = sys_call(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (sys_failed(at))
        return NULL;
    sys_call(SYS_prctl, PR_SET_VMA, PR_SET_VMA_ANON_NAME, at, (long)bytes, (long)"tidemark", 0);
    return (void *)at;
}

void sys_unmap(void *at, size_t bytes)
{
    sys_call(SYS_munmap, (long)at, (long)bytes, 0, 0, 0, 0);
}

void *sys_share(int fd, uint64_t offset, size_t bytes)
{
    long at = sys_call(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                       (long)offset);

    return sys_failed(at) ? NULL : (void *)at;
}

/* A remap from a size of 0 is a second mapping. It would be filled where memory is locked: so the
 * page that it starts from must not be.
 */
void *sys_share_again(const void *page, size_t skip, size_t bytes)
{
    long at;

    sys_call(SYS_munlock, (long)page, 1, 0, 0, 0, 0);
    at = sys_call(SYS_mremap, (long)page, 0, (long)(skip + bytes), MREMAP_MAYMOVE, 0, 0);
    if (sys_failed(at))
        return NULL;
    sys_unmap((void *)at, skip);
    return (void *)(at + (long)skip);
}

/* The one that the kernel has put into the process, which needs no call of it. What libc's name
 * leads to may be another library's (of libfaketime), which tells another time, allocates, waits
 * for locks and prints.
 */
static _Atomic(sys_clock_function *) clock_of_kernel;

void sys_set_clock(sys_clock_function *function)
{
    atomic_store(&clock_of_kernel, function);
}

void sys_clock(clockid_t clock, struct timespec *now)
{
    sys_clock_function *function = atomic_load_explicit(&clock_of_kernel, memory_order_relaxed);

    if (function)
        function(clock, now);
    else
        sys_call(SYS_clock_gettime, clock, (long)now, 0, 0, 0, 0);
}

uint64_t sys_now_ns(void)
{
    struct timespec t = {0};

    sys_clock(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void sys_pause_us(long us)
{
    struct timespec t = {0, us * 1000};

    sys_call(SYS_nanosleep, (long)&t, 0, 0, 0, 0, 0);
}

void sys_number(char out[SYS_DIGITS], int number)
{
    char digits[SYS_DIGITS];
    size_t at = sizeof(digits);

    digits[--at] = '\0';
    for (; number || at == sizeof(digits) - 1; number /= 10)
        digits[--at] = (char)('0' + number % 10);
    memcpy(out, digits + at, sizeof(digits) - at);
}

int sys_tid(void)
{
    return (int)sys_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

int sys_pid(void)
{
    return (int)sys_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}
