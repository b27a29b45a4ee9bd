/* target - what the programs under test share: numbers from arguments, pages, waiting.
 *
 * Each target does one known thing to memory or processes, so that a test knows the answer. Where
 * something must overlap in time, the processes tell each other through pipes; nothing is left to
 * sleeping long enough. A wrong call of a target exits with 99.
 */
#ifndef TARGETS_TARGET_H
#define TARGETS_TARGET_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define PAGE ((size_t)4096)

static inline _Noreturn void target_fail(const char *what)
{
    perror(what);
    exit(99);
}

/* The argument at `i`, or `otherwise` where there is none. */
static inline long target_number(int argc, char **argv, int i, long otherwise)
{
    if (i >= argc)
        return otherwise;
    char *end = NULL;
    long n = strtol(argv[i], &end, 10);
    if (end == argv[i] || *end != '\0' || n < 0) {
        fprintf(stderr, "%s: '%s' is not a number\n", argv[0], argv[i]);
        exit(99);
    }
    return n;
}

static inline void target_sleep(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (ms > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

/* `bytes` of fresh memory, every page of it written; small pages, so that RSS is what was asked. */
static inline char *target_touch(size_t bytes)
{
    if (bytes == 0)
        return NULL;
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        target_fail("mmap");
    (void)madvise(p, bytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < bytes; i += PAGE)
        ((volatile char *)p)[i] = 1;
    return p;
}

#endif
