/* Threads one after the other and at once; a TLS destructor that leaks; 3000 in all. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static pthread_key_t key;
static void *work(void *arg);

static void leak(void *p)
{
    free(p);
    *(char *volatile *)&(char *){0} = malloc(777); /* leaked in a destructor */
}

/* The first that this thread does is to map memory, not to allocate. */
static void *maps_first(void *arg)
{
    munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
    return work(arg);
}

static void *work(void *arg)
{
    pthread_setspecific(key, malloc(111));
    free(malloc(50));
    return arg;
}

int main(void)
{
    pthread_t t[30];

    pthread_key_create(&key, leak);
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < 30; i++)
            pthread_create(&t[i], NULL, i % 2 ? work : maps_first, NULL);
        for (int i = 0; i < 30; i++)
            pthread_join(t[i], NULL);
    }
    puts("done");
    return 0;
}
