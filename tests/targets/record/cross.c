/* Blocks allocated in one thread and freed or reallocated in another; all are freed at the end. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define PLACES 512
static _Atomic(void *) places[PLACES];
static _Atomic long allocs, bytes;
static long rounds = 300000;

static void *work(void *arg)
{
    uint64_t x = (uintptr_t)arg * 0x9e3779b97f4a7c15u + 1;

    for (long i = 0; i < rounds; i++) {
        size_t size;
        void *p;

        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        size = 16 + x % 600;
        p = atomic_exchange(&places[x / 1024 % PLACES], NULL);
        if (p && x % 7 == 0)
            p = realloc(p, size);
        else if (p) {
            free(p);
            continue;
        } else
            p = malloc(size);
        allocs++;
        bytes += (long)size;
        free(atomic_exchange(&places[x / 1024 % PLACES], p));
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 4;
    pthread_t t[64];

    for (int i = 0; i < n; i++)
        pthread_create(&t[i], NULL, work, (void *)(uintptr_t)(i + 1));
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    for (int i = 0; i < PLACES; i++)
        free(places[i]);
    printf("allocs %ld bytes %ld\n", (long)allocs, (long)bytes);
    return 0;
}
