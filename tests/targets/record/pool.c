/* pool - a library with a pool of native threads, as those of BLAS and OpenMP: pool_start makes it,
 * pool_a and pool_b have every thread of it and the caller burn so many milliseconds of CPU time
 * each, and return when all have. A thread that pool_holds starts allocates so many bytes, for
 * ever.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begins = PTHREAD_COND_INITIALIZER, ends = PTHREAD_COND_INITIALIZER;
static void (*job)(int ms);
static int job_ms, threads, left;
static uint64_t jobs;

static __attribute__((noinline)) void burn(int ms)
{
    struct timespec now;
    uint64_t until = 0, ns;

    do {
        for (volatile int i = 0; i < 20000; i++)
            ;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
        until = until ? until : ns + (uint64_t)ms * 1000000u;
    } while (ns < until);
}

static __attribute__((noinline)) void part_of_a(int ms)
{
    burn(ms);
    __asm__ volatile(""); /* no tail call: the function is to be seen in stacks */
}

static __attribute__((noinline)) void part_of_b(int ms)
{
    burn(ms);
    __asm__ volatile("");
}

static void *serve(void *unused)
{
    uint64_t done = 0;

    pthread_mutex_lock(&lock);
    for (;;) {
        while (jobs == done)
            pthread_cond_wait(&begins, &lock);
        done = jobs;
        pthread_mutex_unlock(&lock);
        job(job_ms);
        pthread_mutex_lock(&lock);
        if (--left == 0)
            pthread_cond_signal(&ends);
    }
    return unused;
}

static void parallel(void (*function)(int), int ms)
{
    pthread_mutex_lock(&lock);
    job = function;
    job_ms = ms;
    left = threads;
    jobs++;
    pthread_cond_broadcast(&begins);
    pthread_mutex_unlock(&lock);
    function(ms);
    pthread_mutex_lock(&lock);
    while (left)
        pthread_cond_wait(&ends, &lock);
    pthread_mutex_unlock(&lock);
}

EXPORT void pool_start(int count)
{
    pthread_t thread;

    for (threads = 0; threads < count; threads++)
        pthread_create(&thread, NULL, serve, NULL);
}

EXPORT void pool_a(int ms)
{
    parallel(part_of_a, ms);
}

EXPORT void pool_b(int ms)
{
    parallel(part_of_b, ms);
}

static void *hold(void *bytes)
{
    static void *volatile held;

    usleep(100000); /* until the caller does something else */
    held = malloc((size_t)(uintptr_t)bytes);
    return NULL;
}

EXPORT void pool_holds(int bytes)
{
    pthread_t thread;

    pthread_create(&thread, NULL, hold, (void *)(uintptr_t)bytes);
}
