/* pynative - native code for scripts that load it with ctypes. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void race(uint64_t rounds, uint64_t seed);
void hold_lock(void);
void want_lock(void);
void *grow(long mib);
int wait_for(int fd, int ms);

/* realloc, malloc and free of blocks that another thread may get at once; all are freed. */
void race(uint64_t rounds, uint64_t seed)
{
    void *blocks[64] = {0};
    uint64_t x = seed * 0x9e3779b97f4a7c15u | 1;

    for (uint64_t i = 0; i < rounds; i++) {
        unsigned int at;
        size_t size;
        void *p;

        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        at = x % 64;
        size = 2000 + (x >> 20) % 18000;
        if ((x >> 60) < 12) {
            p = realloc(blocks[at], size);
            blocks[at] = p ? p : blocks[at];
        } else {
            free(blocks[at]);
            blocks[at] = malloc(size);
        }
    }
    for (int i = 0; i < 64; i++)
        free(blocks[i]);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Without the GIL: works under a lock, then allocates under it. */
void hold_lock(void)
{
    struct timespec pause = {0, 200000000};

    pthread_mutex_lock(&lock);
    nanosleep(&pause, NULL);
    for (int i = 0; i < 8; i++) {
        char *p = malloc(4 << 20);

        if (p)
            memset(p, 1, 4096);
        if (i % 2)
            free(p);
    }
    pthread_mutex_unlock(&lock);
}

/* With the GIL: whoever needs the GIL to note an allocation under the lock never ends. */
void want_lock(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

void *grow(long mib)
{
    char *p = NULL;

    for (long i = 1; i <= mib; i++) {
        p = realloc(p, (size_t)i << 20);
        if (p)
            memset(p + ((i - 1) << 20), 1, 4096);
    }
    return p;
}

int wait_for(int fd, int ms)
{
    struct pollfd p = {fd, POLLIN, 0};
    int result = poll(&p, 1, ms);

    return result < 0 ? -errno : result;
}
