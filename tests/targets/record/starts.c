/* starts HOW PROGRAM [ARGS...]: starts a program without an environment, in one way of many, waits
 * for it and returns its status. As "child" it holds 777 bytes and says what it was given.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char *nothing[] = {"GIVEN=yes", NULL};

static int child(int argc, char **argv)
{
    char *volatile block = malloc(777);

    block[0] = 1;
    printf("words %d given %s last %s\n", argc - 2, getenv("GIVEN") ? getenv("GIVEN") : "no",
           argv[argc - 1]);
    return 0;
}

static void start(const char *how, char **words)
{
    const char *file = words[0];
    int fd;

    if (!strcmp(how, "execve") || !strcmp(how, "vfork"))
        execve(file, words, nothing);
    else if (!strcmp(how, "execvpe"))
        execvpe(file, words, nothing);
    else if (!strcmp(how, "execv")) {
        environ = nothing;
        execv(file, words);
    } else if (!strcmp(how, "execvp")) {
        environ = nothing;
        execvp(file, words);
    } else if (!strcmp(how, "execl")) {
        environ = nothing;
        execl(file, file, "child", "a", "b", (char *)NULL);
    } else if (!strcmp(how, "execlp")) {
        environ = nothing;
        execlp(file, file, "child", "a", "b", (char *)NULL);
    } else if (!strcmp(how, "execle"))
        execle(file, file, "child", "a", "b", (char *)NULL, nothing);
    else if (!strcmp(how, "fexecve")) {
        fd = open(file, O_RDONLY | O_CLOEXEC);
        fexecve(fd, words, nothing);
    } else if (!strcmp(how, "execveat")) {
        fd = open(file, O_PATH | O_CLOEXEC);
        execveat(fd, "", words, nothing, AT_EMPTY_PATH);
    } else if (!strcmp(how, "null"))
        execve(file, words, NULL);
}

/* As start(), where a whole process is made by one call. */
static int spawn(const char *how, char **words, pid_t *pid)
{
    if (!strcmp(how, "posix_spawn"))
        return posix_spawn(pid, words[0], NULL, NULL, words, nothing);
    return posix_spawnp(pid, words[0], NULL, NULL, words, nothing);
}

int main(int argc, char **argv)
{
    int status = 0, error = 0;
    pid_t pid;

    if (argc > 1 && !strcmp(argv[1], "child"))
        return child(argc, argv);
    errno = 0;
    if (!strcmp(argv[1], "posix_spawn") || !strcmp(argv[1], "posix_spawnp")) {
        error = spawn(argv[1], argv + 2, &pid);
    } else {
        pid = strcmp(argv[1], "vfork") ? fork() : vfork();
        if (!pid) {
            start(argv[1], argv + 2);
            _exit(errno);
        }
    }
    if (error) {
        printf("error %d\n", error);
        return error;
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
