/* storm N [raw] - executes itself N times, each time after a little work, so that a timer's signal
 * is often on its way; says "survived N". raw: by the system call itself.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
    char left[16],
        *next[] = {argv[0], left, argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL, NULL};
    int n = argc > 1 ? atoi(argv[1]) : 0;
    struct timespec t;
    uint64_t start = 0, now;

    if (n == 0) {
        printf("survived\n");
        return 0;
    }
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
        start = start ? start : now;
    } while (now - start < (uint64_t)(n % 7) * 500000);
    snprintf(left, sizeof(left), "%d", n - 1);
    if (argc > 2 && !strcmp(argv[2], "raw"))
        syscall(SYS_execve, "/proc/self/exe", next, environ);
    else
        execv("/proc/self/exe", next);
    return 1;
}
