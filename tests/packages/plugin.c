/* plugin - what later.c loads: with threads, where libpthread is a library of its own, or without.
 */
#include <pthread.h>
#include <stdlib.h>

#define BLOCKS 500

void hold_in_plugin(void);
void hold_in_thread(void);

static void *volatile kept[BLOCKS];

__attribute__((noinline)) void hold_in_plugin(void)
{
    for (int i = 0; i < BLOCKS; i++)
        kept[i] = malloc(700);
}

#ifdef THREADS
__attribute__((noinline)) static void *in_thread(void *unused)
{
    for (int i = 0; i < BLOCKS; i++)
        kept[i] = malloc(900);
    return unused;
}

void hold_in_thread(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, in_thread, NULL) == 0)
        pthread_join(thread, NULL);
}
#endif
