/* sys - see sys.h. */
#include "inject/sys.h"

#include <sys/prctl.h>
#include <time.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

bool sys_silent;

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

uint64_t sys_now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void sys_pause_us(long us)
{
    struct timespec t = {0, us * 1000};

    sys_call(SYS_nanosleep, (long)&t, 0, 0, 0, 0, 0);
}

int sys_tid(void)
{
    return (int)sys_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

int sys_pid(void)
{
    return (int)sys_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
}
