/* subject - the program that the campaign harms: subject LOG WHAT [ARGS...]
 *
 * What it prints and how it ends is the same with and without a recorder; LOG holds the truth about
 * its allocations (truth.h).
 *   work THREADS CALLS                  and returns 7
 *   last THREADS                        works until LOG says stop, then returns 7
 *   die THREADS MICROSECONDS HOW        while its threads work
 *   fork|vfork|spawn|daemon|prefork|reuse CHILDREN CALLS MICROSECONDS
 *                                       children that work, so long apart; returns 0 when all of
 *                                       them came to their own end
 *   exec DEPTH CALLS                    works and executes itself, so many times
 *   after HOW CALLS                     gives something up (a root folder, a user ...), then works,
 *                                       in threads and in children, too
 *   storm THREADS ROUNDS CALLS          threads that come, start programs in every way, and go
 *   alarms ROUNDS CALLS                 interrupted all the time, beside coroutines
 */
#include "subject.h"
#include "truth.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

uint64_t subject_number(char **args, int at)
{
    return strtoull(args[at], NULL, 10);
}

static int work(char **args)
{
    truth_work_in_threads((unsigned int)subject_number(args, 0), subject_number(args, 1));
    puts("worked");
    return 7;
}

static int last(char **args)
{
    truth_work_in_threads((unsigned int)subject_number(args, 0), ~0ull);
    puts("lasted");
    return 7;
}

static void *work_for_ever(void *unused)
{
    (void)unused;
    truth_work(~0ull);
    return NULL;
}

static int end_by(const char *how)
{
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(how, "term") == 0)
        kill(getpid(), SIGTERM);
    if (strcmp(how, "segv") == 0)
        *(volatile int *)8 = 1; /* NOLINT: the death that was asked for */
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "_exit") == 0)
        _exit(3);
    if (strcmp(how, "exit_group") == 0)
        syscall(SYS_exit_group, 4);
    if (strcmp(how, "quick_exit") == 0)
        quick_exit(5);
    return 6;
}

static int die(char **args)
{
    pthread_t thread;

    puts("dying");
    fflush(stdout);
    for (uint64_t i = subject_number(args, 0); i > 0; i--)
        if (pthread_create(&thread, NULL, work_for_ever, NULL) != 0)
            return 98;
    usleep((useconds_t)subject_number(args, 1));
    return end_by(args[2]);
}

static int chain(char **args)
{
    uint64_t depth = subject_number(args, 0);
    char left[24];

    truth_work(subject_number(args, 1));
    if (depth == 0) {
        puts("the end of the chain");
        return 7;
    }
    snprintf(left, sizeof(left), "%llu", (unsigned long long)(depth - 1));
    execl("/proc/self/exe", "subject", truth_path, "exec", left, args[1], (char *)NULL);
    return 98;
}

static const struct {
    const char *name;
    int args;
    int (*run)(char **args);
} whats[] = {
    {"work", 2, work},
    {"last", 1, last},
    {"die", 3, die},
    {"exec", 2, chain},
    {"child", 1, subject_child},
    {"fork", 3, subject_forks},
    {"vfork", 3, subject_vforks},
    {"spawn", 3, subject_spawns},
    {"daemon", 3, subject_daemons},
    {"prefork", 3, subject_preforks},
    {"reuse", 3, subject_reuses},
    {"after", 2, subject_after},
    {"storm", 3, subject_storm},
    {"alarms", 2, subject_alarms},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 2 && i < COUNT(whats); i++)
        if (strcmp(argv[2], whats[i].name) == 0 && argc == 3 + whats[i].args) {
            truth_open(argv[1]);
            return whats[i].run(argv + 3);
        }
    fputs("usage: subject LOG WHAT [ARGS...]\n", stderr);
    return 2;
}
