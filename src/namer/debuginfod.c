/* debuginfod - see debuginfod.h. Servers are slow and may hang: the program that asks them is given
 * a time, and it is started by a process that forked before this one was jailed.
 */
#include "namer/debuginfod.h"

#include "base/clock.h"
#include "base/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MOST_MS 120000 /* a debug file can be large, a server slow */
#define ID_MOST 256

static int asker = -1; /* to the process that asks for us; -1: we do it ourselves */

extern char **environ;

/* Its output goes to `to`, its complaints nowhere; signals that the tool blocks are not blocked. */
static pid_t start(const char *id, int to)
{
    char *arguments[] = {"debuginfod-find", "debuginfo", (char *)(uintptr_t)id, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none;
    pid_t pid;
    int failed;

    sigemptyset(&none);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, to, 1);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    failed = posix_spawnp(&pid, arguments[0], &files, &how, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    return failed ? -1 : pid;
}

static int64_t now_ms(void)
{
    return (int64_t)(clock_ns(CLOCK_MONOTONIC) / 1000000);
}

/* Everything up to the end of the output, which must fit and come in time; -1 otherwise. */
static ssize_t read_all(int from, char *text, size_t room)
{
    int64_t deadline = now_ms() + WAIT_MOST_MS;
    size_t used = 0;

    while (used < room) {
        struct pollfd ready = {.fd = from, .events = POLLIN};
        int64_t left = deadline - now_ms();
        ssize_t n;

        if (left <= 0)
            return -1;
        if (poll(&ready, 1, (int)left) <= 0)
            continue;
        n = read(from, text + used, room - used);
        if (n == 0)
            return (ssize_t)used;
        if (n < 0 && errno != EINTR)
            return -1;
        used += n > 0 ? (size_t)n : 0;
    }
    return -1;
}

static bool ended_well(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return false;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool run_finder(const char *id, char *path, size_t room)
{
    ssize_t length = -1;
    int pipes[2];
    pid_t pid;

    if (id[strspn(id, "0123456789abcdef")] || pipe2(pipes, O_CLOEXEC) < 0)
        return false;
    pid = start(id, pipes[1]);
    close(pipes[1]);
    if (pid > 0)
        length = read_all(pipes[0], path, room);
    close(pipes[0]);
    if (pid <= 0)
        return false;
    if (length < 0)
        kill(pid, SIGKILL);
    if (!ended_well(pid) || length <= 1)
        return false;
    path[length - 1] = 0; /* its line ends here */
    return path[0] == '/' && !strchr(path, '\n');
}

/* ---- a process of its own for that ---- */

static void serve(int socket)
{
    char id[ID_MOST], path[PATH_MAX];
    ssize_t n;

    jail_privileges();
    while ((n = recv(socket, id, sizeof(id) - 1, 0)) > 0) {
        id[n] = 0;
        if (!run_finder(id, path, sizeof(path)))
            snprintf(path, sizeof(path), "-");
        if (send(socket, path, strlen(path), MSG_NOSIGNAL) < 0)
            return;
    }
}

void debuginfod_begin(void)
{
    int pair[2];
    pid_t pid;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return;
    pid = fork();
    if (pid == 0) {
        close(pair[0]);
        close(0); /* its other end must see when the helper ends */
        serve(pair[1]);
        _exit(0);
    }
    close(pair[1]);
    asker = pair[0];
}

bool debuginfod_find(const char *id, char *path, size_t room)
{
    struct pollfd answer = {.fd = asker, .events = POLLIN};
    ssize_t n = -1;

    if (asker < 0)
        return run_finder(id, path, room);
    if (strlen(id) < ID_MOST && send(asker, id, strlen(id), MSG_NOSIGNAL) > 0 &&
        poll(&answer, 1, WAIT_MOST_MS + WAIT_MOST_MS / 10) > 0)
        n = recv(asker, path, room - 1, 0);
    path[n > 0 ? n : 0] = 0;
    return path[0] == '/';
}
