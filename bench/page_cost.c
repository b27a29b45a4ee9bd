/* page_cost - what a look at the pages of a process costs the recorder (residence_ranges): CPU
 * time, the least of five, for some sizes that are touched or not. To be compiled with
 * src/platform/linux_pages.c.
 */
#include "platform/platform.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* A child that has touched the first bytes of each range, and waits. */
static pid_t child_of(const struct residence_range *r, size_t count, uint64_t touched)
{
    int fd[2];
    pid_t child;
    char c;

    if (pipe(fd))
        exit(1);
    child = fork();
    if (child == 0) {
        for (size_t i = 0; i < count; i++)
            for (uint64_t at = 0; at < touched; at += 4096)
                ((volatile char *)(uintptr_t)r[i].start)[at] = 1;
        if (write(fd[1], "x", 1) == 1)
            pause();
        _exit(0);
    }
    if (read(fd[0], &c, 1) != 1)
        exit(1);
    return child;
}

static void measure(const char *what, size_t count, uint64_t bytes, uint64_t touched)
{
    struct residence_range *r = calloc(count, sizeof(*r));
    double least = 1e9;
    pid_t child;

    for (size_t i = 0; r && i < count; i++) {
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        madvise(p, bytes, MADV_NOHUGEPAGE);
        r[i] = (struct residence_range){(uint64_t)(uintptr_t)p, bytes, 0, false};
    }
    child = child_of(r, count, touched);
    for (int i = 0; i < 5; i++) {
        double from = now_ms();

        residence_ranges(child, r, count);
        least = now_ms() - from < least ? now_ms() - from : least;
    }
    printf("| %s | %.2f ms |\n", what, least);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    for (size_t i = 0; i < count; i++)
        munmap((void *)(uintptr_t)r[i].start, bytes);
    free(r);
}

int main(void)
{
    measure("3 GiB, untouched", 1, 3ull << 30, 0);
    measure("1 TiB, untouched", 1, 1ull << 40, 0);
    measure("1 TiB, 512 MiB touched", 1, 1ull << 40, 512ull << 20);
    measure("1 GiB, touched", 1, 1ull << 30, 1ull << 30);
    measure("1,024 times 1 MiB, touched", 1024, 1 << 20, 1 << 20);
    measure("1,024 times 64 KiB, touched", 1024, 64 << 10, 64 << 10);
    return 0;
}
