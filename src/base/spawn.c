/* spawn - see spawn.h. */
#include "base/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define PASSED 3

extern char **environ;

/* Where there is no such device, into memory. */
static int open_nowhere(void)
{
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

    return fd >= 0 ? fd : memfd_create("tidemark-nowhere", MFD_CLOEXEC);
}

/* Signals that the tool blocks are not blocked in the helper. */
int spawn_helper(const char *path, const char *const *argv, int socket, int passed, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none;
    int failed, nowhere = open_nowhere();

    sigemptyset(&none);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, socket, 0);
    posix_spawn_file_actions_adddup2(&files, nowhere, 1);
    posix_spawn_file_actions_adddup2(&files, nowhere, 2);
    if (passed > 0)
        posix_spawn_file_actions_adddup2(&files, passed, PASSED);
    failed = posix_spawn(pid, path, &files, &how, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&how);
    if (nowhere >= 0)
        close(nowhere);
    return failed;
}
