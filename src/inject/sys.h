/* sys - system calls without libc: no errno is touched, no hook of ours is called. */
#ifndef INJECT_SYS_H
#define INJECT_SYS_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* The process is confined: every call fails, instead of ending it. */
extern bool sys_silent __attribute__((visibility("hidden")));

/* Nothing may stand between the registers and the instruction, a sanitizer's call least of all. */
__attribute__((no_sanitize("thread", "address"))) static inline long sys_enter(long number, long a,
                                                                               long b, long c,
                                                                               long d, long e,
                                                                               long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
    if (__builtin_expect(sys_silent, 0))
        return -ENOSYS;
    return sys_enter(number, a, b, c, d, e, f);
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
uint64_t sys_now_ns(void); /* CLOCK_MONOTONIC */
void sys_pause_us(long us);
static inline void sys_drop(sigset_t *set, int signal) /* out of the set */
{
    set->__val[0] &= ~(1ul << (signal - 1));
}

int sys_tid(void);
int sys_pid(void);

#endif
