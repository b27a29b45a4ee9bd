/* waits_native [US]: threads that wait in known functions, called from known ones, for half a
 * second or so many microseconds; what each waits in is its outermost function's name less "run_".
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OUTLINED __attribute__((noinline, noclone))

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t empty;
static int ends[2];
static volatile int sink;
static useconds_t end_us = 500000;

static OUTLINED void take(void)
{
    pthread_mutex_lock(&held);
    sink++;
}

static OUTLINED void worker_loop(void)
{
    take();
    sink++;
}

static OUTLINED int pop(void)
{
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&never, &lock);
    return ++sink;
}

static OUTLINED int serve(void)
{
    struct pollfd p = {ends[0], POLLIN, 0};

    return poll(&p, 1, -1) + ++sink;
}

static OUTLINED int fetch(int n)
{
    char some[300];

    sink += (int)read(ends[0], some, sizeof(some));
    return some[n];
}

static OUTLINED int deeper(int n)
{
    char some[64];

    memset(some, n, sizeof(some));
    sink += n ? deeper(n - 1) : fetch(n);
    return some[3] + sink;
}

static OUTLINED int doze(void)
{
    struct timespec t = {1000, 0};

    return nanosleep(&t, NULL) + ++sink;
}

/* A frame of no fixed size, whose pointer nobody further in has saved. */
static OUTLINED int room(int n)
{
    char some[n * 16];

    memset(some, n, sizeof(some));
    sink += (int)read(ends[0], some, (size_t)n);
    return some[n];
}

static OUTLINED int roomy(int n)
{
    sink += sem_wait(&empty);
    return n + sink;
}

#define RUN(name, call)                                                                            \
    static OUTLINED void *run_##name(void *unused)                                                 \
    {                                                                                              \
        (void)unused;                                                                              \
        call;                                                                                      \
        sink++;                                                                                    \
        return NULL;                                                                               \
    }

RUN(mutex, worker_loop())
RUN(condition, pop())
RUN(poll, serve())
RUN(read, deeper(3))
RUN(sleep, doze())
RUN(room, room(9))
RUN(semaphore, roomy(2))

static OUTLINED void end_all(void)
{
    usleep(end_us);
    _exit(0);
}

static void *run_end(void *unused)
{
    end_all();
    return unused;
}

static OUTLINED void join_them(pthread_t first)
{
    pthread_join(first, NULL);
    sink++;
}

int main(int argc, char **argv)
{
    void *(*const runs[])(void *) = {run_mutex, run_condition, run_poll,     run_read,
                                     run_sleep, run_room,      run_semaphore};
    pthread_t threads[sizeof(runs) / sizeof(*runs)], end;

    if (argc > 1)
        end_us = (useconds_t)atoi(argv[1]);
    pipe(ends);
    sem_init(&empty, 0, 0);
    pthread_mutex_lock(&held);
    for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++)
        pthread_create(&threads[i], NULL, runs[i], NULL);
    pthread_create(&end, NULL, run_end, NULL);
    join_them(threads[0]);
    return 0;
}
