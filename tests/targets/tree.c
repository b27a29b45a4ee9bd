/* tree MODE COUNT MIB HOLD_MS - processes that hold memory in a known way.
 *
 *   par        COUNT children, each MIB, all at the same time for HOLD_MS
 *   autoreap   the same, but the parent ignores SIGCHLD: the kernel reaps, nobody learns the usage
 *   late       autoreap, but only after HOLD_MS, which nothing is held for then
 *   chain      the same as par, each the child of the one before
 *   threadfork the same, but each child is forked by another thread than the main one
 *   cow        the parent holds MIB, COUNT children read it: RSS counts it COUNT + 1 times
 *   seq        COUNT children one after the other, each MIB for HOLD_MS
 *   stagger    COUNT children live all the time, but only one at a time holds its MIB
 *   orphan     a grandchild whose parent is gone holds MIB while this process lives
 *   daemon     the same, but this process ends and the grandchild stays for HOLD_MS
 *
 * "At the same time" is made so by two pipes: each process says `here` and waits until the other
 * end of `leave` is closed.
 */
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

static int here[2], leave[2];
static size_t bytes;
static long count, hold_ms;

static pid_t child(void)
{
    pid_t pid = fork();
    if (pid < 0)
        target_fail("fork");
    return pid;
}

static void say_here(void)
{
    if (write(here[1], "h", 1) != 1)
        target_fail("write");
}

static void await_leave(void)
{
    char byte;
    close(leave[1]);
    while (read(leave[0], &byte, 1) > 0)
        continue;
}

static _Noreturn void member(void)
{
    target_touch(bytes);
    say_here();
    await_leave();
    _exit(0);
}

/* Wait until `n` processes are here, hold, let them go, and see them gone. */
static void conduct(long n)
{
    char byte;
    for (; n > 0; n--)
        if (read(here[0], &byte, 1) != 1)
            target_fail("read");
    target_sleep(hold_ms);
    close(here[1]);
    close(leave[1]);
    while (wait(NULL) > 0)
        continue;
    while (read(here[0], &byte, 1) > 0) /* ends when the last process that has here[1] is gone */
        continue;
}

static void par(void)
{
    for (long i = 0; i < count; i++)
        if (child() == 0)
            member();
    conduct(count);
}

static void autoreap(void)
{
    signal(SIGCHLD, SIG_IGN);
    par();
}

static void late(void)
{
    target_sleep(hold_ms);
    hold_ms = 0;
    autoreap();
}

static void chain(void)
{
    long below = count;
    while (below > 0 && child() == 0)
        below--;
    if (below == count) {
        conduct(count);
        return;
    }
    target_touch(bytes);
    say_here();
    await_leave();
    wait(NULL);
    _exit(0);
}

static void *fork_one(void *arg)
{
    if (child() == 0)
        member();
    int *gate = arg; /* the thread stays, because its children are listed under it */
    char byte;
    while (read(*gate, &byte, 1) > 0)
        continue;
    return NULL;
}

static void threadfork(void)
{
    int gate[2];
    if (pipe(gate) != 0)
        target_fail("pipe");
    for (long i = 0; i < count; i++) {
        pthread_t t;
        if (pthread_create(&t, NULL, fork_one, &gate[0]) != 0)
            target_fail("pthread_create");
    }
    conduct(count);
}

static void cow(void)
{
    const volatile char *shared = target_touch(bytes);
    for (long i = 0; i < count; i++)
        if (child() == 0) {
            for (size_t at = 0; at < bytes; at += PAGE)
                (void)shared[at];
            say_here();
            await_leave();
            _exit(0);
        }
    conduct(count);
}

static void seq(void)
{
    for (long i = 0; i < count; i++) {
        if (child() == 0) {
            target_touch(bytes);
            target_sleep(hold_ms);
            _exit(0);
        }
        wait(NULL);
    }
}

static _Noreturn void take_turn(const int *turn)
{
    char byte;
    if (read(turn[0], &byte, 1) != 1)
        _exit(99);
    char *p = target_touch(bytes);
    target_sleep(hold_ms);
    munmap(p, bytes);
    say_here();
    await_leave();
    _exit(0);
}

static void stagger(void)
{
    int turn[2];
    char byte;
    if (pipe(turn) != 0)
        target_fail("pipe");
    for (long i = 0; i < count; i++)
        if (child() == 0)
            take_turn(turn);
    for (long i = 0; i < count; i++)
        if (write(turn[1], "t", 1) != 1 || read(here[0], &byte, 1) != 1)
            target_fail("turn");
    conduct(0);
}

static void orphan(void)
{
    if (child() == 0) {
        setsid();
        if (child() == 0)
            member();
        _exit(0);
    }
    wait(NULL);
    conduct(1);
}

static void daemon_stays(void)
{
    char byte;
    if (child() == 0) {
        setsid();
        if (child() == 0) {
            target_touch(bytes);
            say_here();
            target_sleep(hold_ms);
            _exit(0);
        }
        _exit(0);
    }
    wait(NULL);
    if (read(here[0], &byte, 1) != 1)
        target_fail("read");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {
        {"par", par},
        {"autoreap", autoreap},
        {"late", late},
        {"chain", chain},
        {"cow", cow},
        {"seq", seq},
        {"stagger", stagger},
        {"orphan", orphan},
        {"daemon", daemon_stays},
        {"threadfork", threadfork},
    };
    count = target_number(argc, argv, 2, 1);
    bytes = (size_t)target_number(argc, argv, 3, 1) * MIB;
    hold_ms = target_number(argc, argv, 4, 0);
    if (pipe(here) != 0 || pipe(leave) != 0)
        target_fail("pipe");
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (!strcmp(argv[1], modes[i].name)) {
            modes[i].run();
            return 0;
        }
    fprintf(stderr, "tree: no such mode\n");
    return 99;
}
