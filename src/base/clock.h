/* clock - a clock's time in nanoseconds. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#define CLOCK_SECOND_NS 1000000000u

static inline uint64_t clock_ns_of(struct timespec t)
{
    return (uint64_t)t.tv_sec * CLOCK_SECOND_NS + (uint64_t)t.tv_nsec;
}

static inline uint64_t clock_ns_of_timeval(struct timeval t)
{
    return (uint64_t)t.tv_sec * CLOCK_SECOND_NS + (uint64_t)t.tv_usec * 1000;
}

static inline struct timespec clock_timespec(uint64_t ns)
{
    return (struct timespec){(time_t)(ns / CLOCK_SECOND_NS), (long)(ns % CLOCK_SECOND_NS)};
}

/* 0 where there is no such clock. */
static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec t = {0};

    clock_gettime(clock, &t);
    return clock_ns_of(t);
}

#endif
