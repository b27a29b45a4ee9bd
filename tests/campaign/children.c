/* children - every way to have some: each works and exits in a way of its own, and their parent
 * counts those that did not get there.
 */
#include "subject.h"
#include "truth.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PREFORKED_MOST 64
#define PATIENCE_US 20000000

extern char **environ;

static void child_end(uint64_t calls)
{
    truth_work(calls);
    __atomic_fetch_add(&truth->ended, 1, __ATOMIC_SEQ_CST);
    _exit(SUBJECT_CHILD);
}

int subject_child(char **args)
{
    child_end(subject_number(args, 0));
    return 0;
}

static pid_t fork_child(uint64_t calls)
{
    pid_t pid = fork();

    if (pid == 0) {
        truth_forked();
        child_end(calls);
    }
    return pid;
}

static pid_t vfork_child(uint64_t calls)
{
    char text[24];
    pid_t pid;

    snprintf(text, sizeof(text), "%llu", (unsigned long long)calls);
    pid = vfork();
    if (pid == 0) {
        execl("/proc/self/exe", "subject", truth_path, "child", text, (char *)NULL);
        _exit(1);
    }
    return pid;
}

static pid_t spawn_child(uint64_t calls)
{
    char text[24];
    char *args[] = {"subject", (char *)truth_path, "child", text, NULL};
    pid_t pid;

    snprintf(text, sizeof(text), "%llu", (unsigned long long)calls);
    return posix_spawn(&pid, "/proc/self/exe", NULL, NULL, args, environ) == 0 ? pid : -1;
}

/* The next process gets the number of the last child, which is gone. */
static pid_t reuse_child(uint64_t calls)
{
    static char number[24];
    int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
    pid_t pid;

    if (fd < 0 || (number[0] && write(fd, number, strlen(number)) < 0))
        return -1;
    close(fd);
    pid = fork_child(calls);
    if (!number[0])
        snprintf(number, sizeof(number), "%d", (int)pid - 1);
    return pid;
}

static int harmed(pid_t pid)
{
    int status;

    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 1;
    return !(WIFEXITED(status) && WEXITSTATUS(status) == SUBJECT_CHILD);
}

static int one_by_one(char **args, pid_t (*child)(uint64_t calls))
{
    uint64_t children = subject_number(args, 0), calls = subject_number(args, 1);
    int bad = 0;

    for (uint64_t i = 0; i < children; i++) {
        truth_work(calls / 2);
        bad += harmed(child(calls));
        usleep((useconds_t)subject_number(args, 2));
    }
    printf("%d children harmed\n", bad);
    return bad != 0;
}

int subject_fork_all(uint64_t children, uint64_t calls)
{
    int bad = 0;

    for (uint64_t i = 0; i < children; i++)
        bad += harmed(fork_child(calls));
    return bad;
}

int subject_forks(char **args)
{
    return one_by_one(args, fork_child);
}

int subject_vforks(char **args)
{
    return one_by_one(args, vfork_child);
}

int subject_spawns(char **args)
{
    return one_by_one(args, spawn_child);
}

int subject_reuses(char **args)
{
    return one_by_one(args, reuse_child);
}

/* All at once, as a server that forks its workers first. */
int subject_preforks(char **args)
{
    uint64_t children = subject_number(args, 0), calls = subject_number(args, 1);
    pid_t all[PREFORKED_MOST];
    int bad = 0;

    if (children > PREFORKED_MOST)
        children = PREFORKED_MOST;
    for (uint64_t i = 0; i < children; i++)
        all[i] = fork_child(calls);
    usleep((useconds_t)subject_number(args, 2));
    truth_work(calls);
    for (uint64_t i = 0; i < children; i++)
        bad += harmed(all[i]);
    printf("%d children harmed\n", bad);
    return bad != 0;
}

/* Twice forked and in a session of its own: nobody waits for it, so the log must tell. */
int subject_daemons(char **args)
{
    uint64_t children = subject_number(args, 0), calls = subject_number(args, 1), waited = 0;

    for (uint64_t i = 0; i < children; i++) {
        pid_t pid = fork();

        if (pid == 0) {
            truth_forked();
            setsid();
            _exit(fork_child(calls) < 0);
        }
        if (pid < 0 || waitpid(pid, NULL, 0) != pid)
            return 98;
        usleep((useconds_t)subject_number(args, 2));
    }
    for (; __atomic_load_n(&truth->ended, __ATOMIC_SEQ_CST) < children && waited < PATIENCE_US;
         waited += 1000)
        usleep(1000);
    printf("%d children harmed\n", (int)(children - truth->ended));
    return truth->ended != children;
}
