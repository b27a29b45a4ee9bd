/* own_cost - allocate a little in each of THREADS threads, then say what this process has cost: CPU
 * time in us and the high-water mark of its memory in KiB.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static pthread_barrier_t all;

static void *work(void *unused)
{
    for (int i = 0; i < 100; i++) {
        void *volatile p = malloc(100);

        free(p);
    }
    pthread_barrier_wait(&all);
    return unused;
}

int main(int argc, char **argv)
{
    unsigned int threads = argc > 1 ? (unsigned int)atoi(argv[1]) : 1;
    struct rusage used;
    pthread_t one;
    char line[128];
    FILE *status;
    long kib = 0;

    pthread_barrier_init(&all, NULL, threads);
    for (unsigned int i = 1; i < threads; i++)
        pthread_create(&one, NULL, work, NULL);
    work(NULL);
    status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof(line), status))
        if (!strncmp(line, "VmHWM:", 6))
            kib = atol(line + 6);
    getrusage(RUSAGE_SELF, &used);
    printf("cpu %ld kib %ld\n",
           (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000L + used.ru_utime.tv_usec +
               used.ru_stime.tv_usec,
           kib);
    return 0;
}
