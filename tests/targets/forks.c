/* forks COUNT [FILE] - COUNT children one after the other, each of which ends at once (or runs
 * FILE, which should). A load for measuring what watching costs.
 */
#include "target.h"

#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static pid_t start(char *file)
{
    char *const args[] = {file, NULL};
    pid_t pid;
    if (file) {
        errno = posix_spawn(&pid, file, NULL, NULL, args, environ);
        return errno ? -1 : pid;
    }
    pid = fork();
    if (pid == 0)
        _exit(0);
    return pid;
}

int main(int argc, char **argv)
{
    for (long left = target_number(argc, argv, 1, 100); left > 0; left--) {
        pid_t pid = start(argc > 2 ? argv[2] : NULL);
        if (pid < 0 || waitpid(pid, NULL, 0) < 0)
            target_fail("forks");
    }
    return 0;
}
