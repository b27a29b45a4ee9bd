/* waits_all - uses signals in every way that could meet a profiler's: it says what it saw, which is
 * the same with and without one. Its threads burn CPU time meanwhile.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;
static volatile sig_atomic_t seen[65];

static uint64_t used(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void burn(uint64_t ms)
{
    uint64_t end = used() + ms * 1000000;

    while (used() < end)
        for (int i = 0; i < 10000; i++)
            sink += i;
}

static void note(int number)
{
    seen[number]++;
}

static int count(const sigset_t *set)
{
    int n = 0;

    for (int i = 1; i <= 64; i++)
        n += sigismember(set, i) == 1;
    return n;
}

/* All are blocked; SIGUSR1 is sent each time; nothing else may come. */
static void wait_for_all(int (*wait)(const sigset_t *))
{
    sigset_t all;
    int others = 0;

    sigfillset(&all);
    for (int i = 0; i < 40; i++) {
        burn(5);
        pthread_kill(pthread_self(), SIGUSR1);
        others += wait(&all) != SIGUSR1;
    }
    printf("others %d\n", others);
}

static int by_sigwait(const sigset_t *set)
{
    int number = 0;

    sigwait(set, &number);
    return number;
}

static int by_sigwaitinfo(const sigset_t *set)
{
    return sigwaitinfo(set, NULL);
}

static int by_sigtimedwait(const sigset_t *set)
{
    struct timespec t = {1, 0};

    return sigtimedwait(set, NULL, &t);
}

static int by_signalfd(const sigset_t *set)
{
    struct signalfd_siginfo info = {0};
    static int fd = -1;

    if (fd < 0)
        fd = signalfd(-1, set, 0);
    read(fd, &info, sizeof(info));
    return (int)info.ssi_signo;
}

static void *in_thread(void *none)
{
    sigset_t now;

    pthread_sigmask(SIG_BLOCK, NULL, &now);
    printf("a thread inherits %d\n", count(&now));
    burn(50);
    return none;
}

static void masks(void)
{
    sigset_t all, before, after;
    pthread_t thread;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    pthread_sigmask(SIG_BLOCK, NULL, &after);
    printf("blocked %d, then %d\n", count(&before), count(&after));
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    wait_for_all(by_sigwait);
    wait_for_all(by_sigwaitinfo);
    wait_for_all(by_sigtimedwait);
    wait_for_all(by_signalfd);
    pthread_sigmask(SIG_SETMASK, &before, &after);
    printf("blocked %d\n", count(&after));
}

/* A handler for each: whoever uses a signal that the program takes must have given it up. */
static void handlers(void)
{
    struct sigaction action = {.sa_handler = note}, before;
    int standard = 0, others = 0;

    for (int i = 34; i <= 64; i++) {
        sigaction(i, NULL, &before);
        standard += before.sa_handler == SIG_DFL;
    }
    for (int i = 34; i <= 64; i++) {
        sigaction(i, &action, &before);
        standard += before.sa_handler == SIG_DFL;
        burn(2);
    }
    burn(100);
    for (int i = 34; i <= 64; i++) {
        others += seen[i] != 0;
        raise(i);
    }
    for (int i = 34; i <= 64; i++)
        others += seen[i] != 1;
    printf("standard %d, others %d\n", standard, others);
}

/* One of them, waited for alone, as programs do that use one. */
static void alone(void)
{
    int others = 0;

    for (int i = 64; i >= 34; i--) {
        sigset_t one;

        sigemptyset(&one);
        sigaddset(&one, i);
        sigprocmask(SIG_BLOCK, &one, NULL);
        burn(12);
        raise(i);
        others += by_sigwaitinfo(&one) != i;
        sigprocmask(SIG_UNBLOCK, &one, NULL);
    }
    printf("alone %d\n", others);
}

/* Calls that no flag makes again after a signal. */
static void interrupted(void)
{
    struct timespec moment = {0, 20000};
    int broken = 0;

    for (uint64_t end = used() + 200000000; used() < end;) {
        broken += poll(NULL, 0, 1) < 0;
        broken += nanosleep(&moment, NULL) < 0;
        for (int i = 0; i < 2000; i++)
            broken += poll(NULL, 0, 0) < 0;
    }
    printf("interrupted %d\n", broken);
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    alone();
    masks();
    interrupted();
    handlers();
    return 0;
}
