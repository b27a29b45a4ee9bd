/* cut_waits              waits in every way that a profiler's signal could end, in a thread each
 * cut_waits stops        and is stopped and continued many times meanwhile
 *
 * It says of each wait what a program can see of it. That is the same with and without a profiler,
 * though it sends itself many samples at the worst times: while it waits, and together with a
 * signal of its own. How many stands on stderr: none, where nobody takes any.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define TIME_MS 300    /* of the wait that nobody but the profiler disturbs */
#define LONG_MS 100000 /* of the one that a signal ends */
#define STOPS 150
#define ROUNDS 20    /* of samples to all, within the first */
#define UNTOUCHED 77 /* errno */
#define MESSAGES_MOST 100000

static volatile int many = 1; /* not known to the compiler */
static atomic_int sent;
static bool stops; /* after which the kernel writes what is left even if the wait goes on */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static struct timespec span(long ms)
{
    return (struct timespec){ms / 1000, ms % 1000 * 1000000};
}

static struct timespec moment(clockid_t clock, long ms)
{
    struct timespec t, by = span(ms);

    clock_gettime(clock, &t);
    t.tv_sec += by.tv_sec + (t.tv_nsec + by.tv_nsec) / 1000000000;
    t.tv_nsec = (t.tv_nsec + by.tv_nsec) % 1000000000;
    return t;
}

/* ---- the waits: 0, or the error ---- */

static int pipe_of_nothing(void)
{
    int ends[2];

    return pipe(ends) ? -1 : ends[0];
}

static int by_poll(long ms)
{
    struct pollfd fds[2] = {{.fd = pipe_of_nothing(), .events = POLLIN}};

    return poll(fds, many, ms) < 0 ? errno : 0;
}

static int by_ppoll(long ms)
{
    struct pollfd fds[2] = {{.fd = pipe_of_nothing(), .events = POLLIN}};
    struct timespec t = span(ms);
    sigset_t none;

    sigemptyset(&none);
    return ppoll(fds, many, &t, &none) < 0 ? errno : 0;
}

static int by_select(long ms)
{
    struct timeval t = {ms / 1000, ms % 1000 * 1000};
    int fd = pipe_of_nothing();
    fd_set in;

    FD_ZERO(&in);
    FD_SET(fd, &in);
    return select(fd + 1, &in, NULL, NULL, &t) < 0 ? errno : 0;
}

static int by_pselect(long ms)
{
    struct timespec t = span(ms);

    return pselect(0, NULL, NULL, NULL, &t, NULL) < 0 ? errno : 0;
}

/* The rest is written over the time, if at all. */
static int by_nanosleep(long ms)
{
    struct timespec t = span(ms);

    if (nanosleep(&t, &t) == 0)
        return stops || (t.tv_sec == ms / 1000 && t.tv_nsec == ms % 1000 * 1000000) ? 0 : EPROTO;
    return t.tv_sec < ms / 1000 && t.tv_sec >= ms / 2000 ? errno : EPROTO;
}

static int by_clock_nanosleep(long ms)
{
    struct timespec t = span(ms), left = {-1, -1};
    int error = clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &left);

    if (!stops && (error == 0) != (left.tv_sec == -1))
        return EPROTO;
    return error;
}

static int by_clock_until(long ms)
{
    struct timespec t = moment(CLOCK_REALTIME, ms);

    return clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL);
}

static int by_thrd_sleep(long ms)
{
    struct timespec t = span(ms);
    int result = thrd_sleep(&t, &t);

    return result == -1 ? EINTR : result ? EPROTO : 0;
}

static int by_usleep(long ms)
{
    return usleep(ms * 1000) < 0 ? errno : 0;
}

static int by_sleep(long ms)
{
    return sleep((ms + 999) / 1000) ? EINTR : 0;
}

static int by_sem_timedwait(long ms)
{
    struct timespec t = moment(CLOCK_REALTIME, ms);
    sem_t s;

    sem_init(&s, 0, 0);
    return sem_timedwait(&s, &t) < 0 ? errno : 0;
}

static int by_sem_clockwait(long ms)
{
    struct timespec t = moment(CLOCK_MONOTONIC, ms);
    sem_t s;

    sem_init(&s, 0, 0);
    return sem_clockwait(&s, CLOCK_MONOTONIC, &t) < 0 ? errno : 0;
}

static int by_pause(long ms)
{
    return pause() < 0 ? errno : 0;
}

static int by_sigsuspend(long ms)
{
    sigset_t none;

    sigemptyset(&none);
    return sigsuspend(&none) < 0 ? errno : 0;
}

struct message {
    long type;
    char text[4000];
};

static int by_msgrcv(long ms)
{
    int queue = msgget(IPC_PRIVATE, 0600), error;
    struct message m;

    error = msgrcv(queue, &m, sizeof(m.text), 0, 0) < 0 ? errno : 0;
    msgctl(queue, IPC_RMID, NULL);
    return error;
}

static int by_msgsnd(long ms)
{
    int queue = msgget(IPC_PRIVATE, 0600), error;
    struct message m = {.type = 1};

    for (int i = 0; i < MESSAGES_MOST && !msgsnd(queue, &m, sizeof(m.text), IPC_NOWAIT); i++)
        ;
    error = msgsnd(queue, &m, sizeof(m.text), 0) < 0 ? errno : 0;
    msgctl(queue, IPC_RMID, NULL);
    return error;
}

/* ---- a thread for each ---- */

static struct waiter {
    const char *name;
    int (*once)(long ms);
    bool endless;
    int expected; /* its error when its time is over */
    pthread_t thread;
    atomic_int tid, step; /* 1: in the first wait, 2: in the second, 3: done */
    int errors[2], after;
    double took[2];
} waits[] = {
    {"poll", by_poll},
    {"ppoll", by_ppoll},
    {"select", by_select},
    {"pselect", by_pselect},
    {"nanosleep", by_nanosleep},
    {"clock_nanosleep", by_clock_nanosleep},
    {"clock_nanosleep until", by_clock_until},
    {"thrd_sleep", by_thrd_sleep},
    {"usleep", by_usleep},
    {"sleep", by_sleep},
    {"sem_timedwait", by_sem_timedwait, .expected = ETIMEDOUT},
    {"sem_clockwait", by_sem_clockwait, .expected = ETIMEDOUT},
    {"pause", by_pause, .endless = true},
    {"sigsuspend", by_sigsuspend, .endless = true},
    {"msgrcv", by_msgrcv, .endless = true},
    {"msgsnd", by_msgsnd, .endless = true},
};
#define WAITS (sizeof(waits) / sizeof(waits[0]))

static void *wait_twice(void *given)
{
    struct waiter *w = given;
    double from = now();

    w->tid = gettid();
    errno = UNTOUCHED;
    w->step = 1;
    if (!w->endless) {
        w->errors[0] = w->once(TIME_MS);
        w->after = w->errors[0] ? UNTOUCHED : errno;
        w->took[0] = now() - from;
    }
    from = now();
    w->step = 2;
    w->errors[1] = w->once(LONG_MS);
    w->took[1] = now() - from;
    w->step = 3;
    return NULL;
}

/* ---- samples, as a timer would send them ---- */

static bool find_sampler(int *number, void **mark)
{
    FILE *f = fopen("/proc/self/timers", "r");
    bool found = false;
    char line[200];

    while (f && !found && fgets(line, sizeof(line), f))
        found = sscanf(line, "signal: %d/%p", number, mark) == 2;
    if (f)
        fclose(f);
    return found;
}

static void send_sample(const struct waiter *w)
{
    siginfo_t info = {0};
    int number;
    void *mark;

    if (!find_sampler(&number, &mark))
        return;
    info.si_signo = number;
    info.si_code = SI_TIMER;
    info.si_value.sival_ptr = mark;
    sent += syscall(SYS_rt_tgsigqueueinfo, getpid(), w->tid, number, &info) == 0;
}

static void nothing(int number)
{
    (void)number;
}

/* Samples and signals, until the second wait of each has ended. */
static void end_all(void)
{
    for (bool left = true; left;) {
        left = false;
        for (size_t i = 0; i < WAITS; i++) {
            if (waits[i].step == 3)
                continue;
            left = true;
            if (waits[i].step == 2 || waits[i].endless) {
                send_sample(&waits[i]);
                syscall(SYS_tgkill, getpid(), waits[i].tid, SIGUSR1);
            }
        }
        usleep(5000);
    }
}

/* Within the first half of the first wait. */
static void send_samples(void)
{
    for (int r = 0; r < ROUNDS; r++) {
        usleep(TIME_MS * 1000 / 2 / ROUNDS);
        for (size_t i = 0; i < WAITS; i++)
            if (waits[i].step == 1 || waits[i].endless)
                send_sample(&waits[i]);
    }
}

/* By another process, since nobody can continue itself. */
static void be_stopped(void)
{
    pid_t us = getpid(), helper = fork();

    for (int i = 0; !helper && i < STOPS; i++) {
        kill(us, SIGSTOP);
        usleep(1000);
        kill(us, SIGCONT);
        usleep(1000);
    }
    if (!helper)
        _exit(0);
    waitpid(helper, NULL, 0);
}

static void start_all(void)
{
    for (size_t i = 0; i < WAITS; i++)
        pthread_create(&waits[i].thread, NULL, wait_twice, &waits[i]);
    for (size_t i = 0; i < WAITS; i++)
        while (!waits[i].step)
            sched_yield();
}

static void await_first(const struct waiter *w)
{
    while (!w->endless && w->step == 1)
        usleep(1000);
    if (w->endless && w->step == 3)
        printf("%s: ended by nothing\n", w->name);
}

static void say(const struct waiter *w)
{
    const char *first = w->errors[0] == w->expected ? "whole" : strerror(w->errors[0]);
    bool in_time = w->endless || w->took[0] >= TIME_MS / 1e3 - 0.002;
    bool kept = w->endless || w->after == UNTOUCHED;

    printf("%s: %s, %s, errno %s; a signal: %s\n", w->name, w->endless ? "endless" : first,
           in_time ? "in time" : "early", kept ? "kept" : "lost", strerror(w->errors[1]));
}

int main(int argc, char **argv)
{
    struct sigaction a = {.sa_handler = nothing};

    stops = argc > 1;
    sigaction(SIGUSR1, &a, NULL);
    start_all();
    if (stops)
        be_stopped();
    else
        send_samples();
    for (size_t i = 0; i < WAITS; i++)
        await_first(&waits[i]);
    end_all();
    for (size_t i = 0; i < WAITS; i++) {
        pthread_join(waits[i].thread, NULL);
        say(&waits[i]);
    }
    fprintf(stderr, "samples %d\n", sent);
    return 0;
}
