/* burns - spends CPU time in known functions and says how much in each: "NAME ns" per line.
 *
 *   burns           hot, cold, kernel, copies in the main thread; pooled in a thread of its own
 *   burns fork      the same in a child that never allocates
 *   burns masked    in a thread that blocks all signals
 *   burns dup       after closing every descriptor, and with the number that the next one gets
 *   burns resets    in children that have reset all signals, forked and of vfork, and in a thread
 * after them; "survived" if all end by themselves
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000ull

static volatile uint64_t sink;
static char from[1 << 18], to[1 << 18];

static uint64_t used(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Each is asked for a time, and asks the clock rarely. */
#define BURN(name, ...)                                                                            \
    __attribute__((noinline)) static void name(uint64_t ns)                                        \
    {                                                                                              \
        uint64_t start = used(), end;                                                              \
                                                                                                   \
        do {                                                                                       \
            __VA_ARGS__;                                                                           \
            end = used();                                                                          \
        } while (end - start < ns);                                                                \
        dprintf(2, #name " %llu\n", (unsigned long long)(end - start));                            \
    }

BURN(hot, for (int i = 0; i < 200000; i++) sink += i)
BURN(cold, for (int i = 0; i < 200000; i++) sink ^= i)
BURN(pooled, for (int i = 0; i < 200000; i++) sink -= i)
BURN(kernel, for (int i = 0; i < 2000; i++) syscall(SYS_getppid))
BURN(
    copies, for (int i = 0; i < 50; i++) {
        memcpy(to, from, sizeof(to));
        sink += to[i];
    })

static void *in_thread(void *mask)
{
    sigset_t all;

    sigfillset(&all);
    if (mask)
        pthread_sigmask(SIG_SETMASK, &all, NULL);
    pooled(400 * MS);
    return NULL;
}

__attribute__((noinline)) static void starts_pool(void *mask)
{
    pthread_t thread;

    pthread_create(&thread, NULL, in_thread, mask);
    pthread_join(thread, NULL);
}

static void all(void)
{
    hot(800 * MS);
    cold(400 * MS);
    kernel(400 * MS);
    copies(400 * MS);
}

static void reset(bool old)
{
    for (int number = 1; number < 65; number++)
        (old ? __sysv_signal : signal)(number, SIG_DFL);
}

static bool ends_well(pid_t child)
{
    int status;

    return waitpid(child, &status, 0) == child && WIFEXITED(status);
}

static bool forked_survives(bool old)
{
    pid_t child = fork();

    if (!child) {
        reset(old);
        free(malloc(10));
        hot(60 * MS);
        _exit(0);
    }
    return ends_well(child);
}

static bool vforked_survives(void)
{
    pid_t child = vfork();

    if (!child) {
        reset(false);
        _exit(0);
    }
    return ends_well(child);
}

static bool resets(void)
{
    bool well;

    hot(20 * MS);
    well = forked_survives(false) && forked_survives(true) && vforked_survives();
    starts_pool(NULL);
    return well;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    if (!strcmp(how, "fork")) {
        if (fork() == 0) {
            all();
            _exit(0);
        }
        wait(NULL);
        return 0;
    }
    if (!strcmp(how, "masked")) {
        starts_pool(argv);
        return 0;
    }
    if (!strcmp(how, "dup")) {
        for (int fd = 3; fd < 65536; fd++)
            close(fd);
        printf("next %d\n", dup(1));
        hot(400 * MS);
        printf("next %d\n", dup(1));
        return 0;
    }
    if (!strcmp(how, "resets"))
        return puts(resets() ? "survived" : "killed") < 0;
    all();
    starts_pool(NULL);
    return 0;
}
