/* storms - everything at once: threads that come and go while all of them start programs, fail to
 * start any and load libraries; and signals so often that nothing between two of them is long, with
 * handlers that work, some of which jump out, beside coroutines on small stacks.
 */
#include "subject.h"
#include "truth.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define THREADS_MOST 200
#define FAILURES 20
#define COROUTINES 32
#define COROUTINE_BYTES ((size_t)16384)
#define SIGNAL_US 100
#define JUMPS_EACH 7

extern char **environ;

static uint64_t calls;
static _Atomic int wrong;

static void demand(int kept)
{
    wrong += !kept;
}

/* ---- starts ---- */

static int exit_of(pid_t pid)
{
    int status = -1;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void forks(void)
{
    demand(subject_fork_all(1, calls) == 0);
}

static void fails_to_exec(void)
{
    char *args[] = {"nobody", NULL};

    for (int i = 0; i < FAILURES; i++) {
        pid_t pid = vfork();

        if (pid == 0) {
            errno = 0;
            execve("/nowhere/nobody", args, environ);
            _exit(errno == ENOENT && execvp("nobody-is-called-so", args) && errno == ENOENT ? 8
                                                                                            : 9);
        }
        demand(exit_of(pid) == 8);
    }
}

static void spawns(void)
{
    char *args[] = {"subject", NULL};
    pid_t pid;

    demand(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, args, environ) == 0 &&
           exit_of(pid) == 2);
}

static void fails_to_spawn(void)
{
    char *args[] = {"nobody", NULL};

    for (int i = 0; i < FAILURES; i++)
        demand(posix_spawn(NULL, "/nowhere/nobody", NULL, NULL, args, environ) == ENOENT);
}

static void asks_the_shell(void)
{
    int status = system("exit 3");

    demand(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

static void loads(void)
{
    void *library = dlopen("libz.so.1", RTLD_NOW);

    truth_work(calls);
    if (library)
        dlclose(library);
}

static void *one(void *number)
{
    static void (*const ways[])(void) = {forks,          fails_to_exec,  spawns,
                                         fails_to_spawn, asks_the_shell, loads};

    truth_work(calls);
    ways[(uintptr_t)number % (sizeof(ways) / sizeof(ways[0]))]();
    truth_work(calls);
    return NULL;
}

int subject_storm(char **args)
{
    uint64_t threads = subject_number(args, 0);
    pthread_t all[THREADS_MOST];

    calls = subject_number(args, 2);
    for (uint64_t round = subject_number(args, 1); round > 0; round--) {
        for (uint64_t i = 0; i < threads; i++)
            if (pthread_create(&all[i], NULL, one, (void *)(uintptr_t)i) != 0)
                return 98;
        for (uint64_t i = 0; i < threads; i++)
            pthread_join(all[i], NULL);
    }
    printf("%d things went wrong\n", wrong);
    return wrong ? 97 : 7;
}

/* ---- signals ---- */

static sigjmp_buf way_out;
static volatile sig_atomic_t signals;
static sigset_t alarms;
static ucontext_t outside, inside[COROUTINES];

static void on_alarm(int number)
{
    (void)number;
    truth_work(2);
    if (++signals % JUMPS_EACH == 0)
        siglongjmp(way_out, 1);
}

static void spin(void)
{
    for (volatile int i = 0; i < 20000; i++)
        ;
}

/* Only here is anything interrupted, and nobody is in the allocator. */
static void be_interrupted(void)
{
    if (!sigsetjmp(way_out, 1)) {
        pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
        spin();
    }
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
}

static void coroutine(int number)
{
    for (;;) {
        truth_work(1);
        swapcontext(&inside[number], &outside);
    }
}

static void make_coroutines(void)
{
    char *stacks = mmap(NULL, COROUTINES * COROUTINE_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (stacks == MAP_FAILED)
        exit(1);
    for (int i = 0; i < COROUTINES; i++) {
        getcontext(&inside[i]);
        inside[i].uc_stack = (stack_t){.ss_sp = stacks + i * COROUTINE_BYTES,
                                       .ss_size = COROUTINE_BYTES};
        makecontext(&inside[i], (void (*)(void))coroutine, 1, i);
    }
}

int subject_alarms(char **args)
{
    struct itimerval often = {{0, SIGNAL_US}, {0, SIGNAL_US}};
    struct sigaction action = {.sa_handler = on_alarm};

    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    make_coroutines();
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (uint64_t round = subject_number(args, 0); round > 0; round--) {
        be_interrupted();
        for (int i = 0; i < COROUTINES; i++)
            swapcontext(&outside, &inside[i]);
        truth_work(subject_number(args, 1));
    }
    puts(signals ? "interrupted" : "left alone");
    return 7;
}
