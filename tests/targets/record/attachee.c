/* attachee                 threads that wait in every way, and a first one that obeys its input
 * attachee spin            and one that does nothing but allocate
 * attachee alone HOW       one thread that waits in one way until there is input
 *
 * A wait that ends with EINTR or before its time is counted: nobody sends a signal here. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_int interrupted, early;
static int never[2], work[2], done[2];
static sem_t semaphore;
static void *early_blocks[20], *blocks[1000];
static int block_count;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void check(int failed, double since, double least)
{
    if (failed && errno == EINTR)
        interrupted++;
    else if (least > 0 && now() - since < least - 0.002)
        early++;
}

static void wait_sleep(void)
{
    struct timespec t = {0, 300000000};
    double from = now();

    check(nanosleep(&t, NULL) < 0, from, 0.3);
}

static void wait_poll(void)
{
    struct pollfd p = {never[0], POLLIN, 0};
    double from = now();

    check(poll(&p, 1, 200) < 0, from, 0.2);
}

static void wait_ppoll(void)
{
    struct pollfd p = {never[0], POLLIN, 0};
    struct timespec t = {0, 200000000};
    sigset_t none;
    double from = now();

    sigemptyset(&none);
    check(ppoll(&p, 1, &t, &none) < 0, from, 0.2);
}

static void wait_select(void)
{
    struct timeval t = {0, 250000};
    double from = now();

    check(select(0, NULL, NULL, NULL, &t) < 0, from, 0.25);
}

static void wait_epoll(void)
{
    struct epoll_event e;
    int fd = epoll_create1(0);
    double from = now();

    check(epoll_wait(fd, &e, 1, 150) < 0, from, 0.15);
    close(fd);
}

static void wait_futex(void)
{
    struct timespec t;
    double from = now();

    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += 200000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    check(sem_timedwait(&semaphore, &t) < 0, from, 0.19);
}

static void wait_semaphore(void)
{
    int id = semget(IPC_PRIVATE, 1, 0600);
    struct sembuf b = {0, -1, 0};
    struct timespec t = {0, 220000000};
    double from = now();

    check(semtimedop(id, &b, 1, &t) < 0, from, 0.22);
    semctl(id, 0, IPC_RMID);
}

static void wait_receive(void)
{
    struct timeval t = {0, 200000};
    int pair[2];
    double from;
    char c;

    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
    from = now();
    check(recv(pair[0], &c, 1, 0) < 0, from, 0.2);
    close(pair[0]);
    close(pair[1]);
}

static void wait_child(void)
{
    pid_t child = fork();

    if (!child) {
        usleep(200000);
        _exit(0);
    }
    check(waitpid(child, NULL, 0) < 0, 0, 0);
}

/* All vector registers and the red zone hold something across it. */
static void wait_spin(void)
{
    double from = now(), a = 1, b = 2, c = 3, d = 4;

    do {
        for (int i = 0; i < 100000; i++) {
            a = a * 0.5 + 0.5;
            b = b * 0.5 + 1;
            c = c * 0.5 + 1.5;
            d = d * 0.5 + 2;
        }
        if (a != 1 || b != 2 || c != 3 || d != 4)
            early++;
    } while (now() - from < 0.2);
}

static const struct {
    const char *name;
    void (*once)(void);
} waits[] = {{"sleep", wait_sleep},         {"poll", wait_poll},
             {"ppoll", wait_ppoll},         {"select", wait_select},
             {"epoll", wait_epoll},         {"futex", wait_futex},
             {"semaphore", wait_semaphore}, {"receive", wait_receive},
             {"child", wait_child},         {"spin", wait_spin}};

static void *wait_for_ever(void *which)
{
    for (;;)
        waits[(size_t)which].once();
    return NULL;
}

/* The thread that was borrowed to attach has its signals as before. */
static void check_signals(void)
{
    sigset_t blocked;

    sigprocmask(SIG_BLOCK, NULL, &blocked);
    if (!sigisemptyset(&blocked))
        early++;
}

/* One way of waiting alone, in the only thread, until there is input. */
static int wait_alone(const char *name)
{
    struct pollfd p = {0, POLLIN, 0};

    for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
        if (strcmp(waits[i].name, name) != 0)
            continue;
        while (poll(&p, 1, 0) == 0) {
            void *volatile block = malloc(1234);

            (void)block; /* lost */
            waits[i].once();
            check_signals();
        }
        printf("interrupted %d early %d\n", interrupted, early);
        return 0;
    }
    return 2;
}

/* Allocates when it is told to. */
static void *worker(void *unused)
{
    char c;

    for (;;) {
        ssize_t n = read(work[0], &c, 1);

        check(n < 0, 0, 0);
        for (int i = 0; n == 1 && i < 10; i++) {
            void *volatile p = malloc(5000);

            (void)p; /* lost */
        }
        if (n == 1)
            write(done[1], "", 1);
    }
    return unused;
}

/* Never rests: half of the time it is in the allocator. */
static void *spinner(void *unused)
{
    double value = 0;

    for (unsigned int i = 0;; i++) {
        void *volatile p = malloc(i % 4096);

        for (int k = 0; k < 200; k++)
            value = value * 0.999 + k;
        if (value < 0)
            abort();
        free(p);
    }
    return unused;
}

static void start(void *(*what)(void *), size_t which)
{
    pthread_t t;

    pthread_create(&t, NULL, what, (void *)which);
}

static void obey(char c)
{
    switch (c) {
    case 'a': /* 100 blocks, 50 of them freed, and 10 by another thread */
        for (int i = 0; i < 100; i++)
            blocks[block_count++] = malloc(1000);
        for (int i = 0; i < 50; i++)
            free(blocks[--block_count]);
        write(work[1], "", 1);
        read(done[0], &c, 1);
        break;
    case 'f': /* all of them, and what was there before anybody attached */
        while (block_count)
            free(blocks[--block_count]);
        for (int i = 0; i < 20; i++) {
            free(early_blocks[i]);
            early_blocks[i] = NULL;
        }
        break;
    case 'c': /* a child that allocates as well */
        if (fork() == 0) {
            void *volatile p = malloc(77777);

            (void)p;
            _exit(0);
        }
        wait(NULL);
        break;
    default:
        break;
    }
}

int main(int argc, char **argv)
{
    char c;

    pipe(never);
    pipe(work);
    pipe(done);
    sem_init(&semaphore, 0, 0);
    for (int i = 0; i < 20; i++)
        early_blocks[i] = malloc(333);
    if (argc > 2)
        return wait_alone(argv[2]);
    for (size_t i = 0; i < 8; i++)
        start(wait_for_ever, i);
    start(worker, 0);
    if (argc > 1)
        start(spinner, 0);
    for (;;) {
        char text[100];
        ssize_t n = read(0, &c, 1);

        check(n < 0, 0, 0);
        if (n <= 0)
            return 0;
        obey(c);
        write(1, text,
              (size_t)snprintf(text, sizeof(text), "%c interrupted %d early %d\n", c, interrupted,
                               early));
    }
}
