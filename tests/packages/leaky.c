/* leaky - holds memory and uses CPU time; or, with an argument, holds some again and again for a
 * while: what tools/check_packages records. It is linked so that it runs with any libc: see
 * libc_names.c.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BLOCKS 4000
#define BLOCK_BYTES 1000
#define BURN_NS 300000000

static void *volatile kept[BLOCKS];

__attribute__((noinline)) static void hold_some(int count)
{
    for (int i = 0; i < count; i++)
        kept[i] = malloc(BLOCK_BYTES);
}

__attribute__((noinline)) static void *burn(void *sum)
{
    struct timespec now = {0};

    while (now.tv_sec == 0 && now.tv_nsec < BURN_NS) {
        for (int i = 0; i < 1000000; i++)
            *(volatile double *)sum += i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static double sum;
    pthread_t thread;

    (void)argv;
    hold_some(BLOCKS);
    if (argc == 1 && pthread_create(&thread, NULL, burn, &sum) == 0)
        pthread_join(thread, NULL);
    for (int i = 0; argc > 1 && i < 2000; i++) {
        hold_some(10);
        usleep(10000);
    }
    puts("held");
    return 0;
}
