#include "watch/obstacle.h"

#include "base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRIPTS_MOST 4 /* that run each other, as in the kernel */

static long read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
    return pread(fd, to, bytes, (off_t)offset);
}

static const struct obstacle obstacles[PROGRAM_KINDS] = {
    [PROGRAM_OTHER_MACHINE] = {"it is a 32-bit program or one for another processor", false},
    [PROGRAM_STATIC] = {"it is statically linked", false},
    [PROGRAM_OTHER_LOADER] = {"it has another libc than glibc", false},
    [PROGRAM_SANITIZED] = {"it has a sanitizer, which must be the first to take malloc", false},
    [PROGRAM_OWN_MALLOC] = {"it has a malloc of its own inside: its maps are recorded, and what it "
                            "tells by tidemark.h",
                            true},
};
static const struct obstacle other_rights = {"it runs with the rights of another user", false};

/* Who may not open our memory: the file says that it becomes somebody else, or it has already. */
static bool is_foreign(int pid, int fd)
{
    char path[32];
    struct stat st;

    if (geteuid() != 0 && fstat(fd, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID)))
        return true;
    snprintf(path, sizeof(path), "/proc/%d", pid);
    return stat(path, &st) == 0 && st.st_uid != geteuid();
}

static int open_program(int pid)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static const struct obstacle *obstacle_in(int fd)
{
    enum program_kind kind = program_kind(fd, read_at);

    return obstacles[kind].text ? &obstacles[kind] : NULL;
}

const struct obstacle *obstacle_in_program(int pid)
{
    const struct obstacle *found;
    int fd = open_program(pid);

    if (fd < 0)
        return NULL;
    found = obstacle_in(fd);
    close(fd);
    return found;
}

const struct obstacle *obstacle_of(int pid)
{
    const struct obstacle *found;
    int fd = open_program(pid);

    if (fd < 0) /* nobody else keeps us from looking */
        return errno == EACCES || errno == EPERM ? &other_rights : NULL;
    found = obstacle_in(fd);
    if (!found && is_foreign(pid, fd))
        found = &other_rights;
    close(fd);
    return found;
}

const struct obstacle *obstacle_in_file(const char *file)
{
    const struct obstacle *found;
    int fd = open(file, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return NULL;
    found = obstacle_in(fd);
    close(fd);
    return found;
}

static int open_file(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || access(path, X_OK) < 0)
        return -1;
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* As execvp finds it. */
static int open_command(const char *command)
{
    const char *list = getenv("PATH"), *end;
    char path[PATH_MAX];
    int fd = -1;

    if (strchr(command, '/'))
        return open_file(command);
    for (list = list ? list : "/bin:/usr/bin"; fd < 0; list = end + 1) {
        end = list + strcspn(list, ":");
        if (snprintf(path, sizeof(path), "%.*s%s%s", (int)(end - list), list, end > list ? "/" : "",
                     command) < PATH_MAX)
            fd = open_file(path);
        if (!*end)
            break;
    }
    return fd;
}

bool obstacle_breaks(const char *command)
{
    enum program_kind kind = PROGRAM_UNKNOWN;
    char script[256];
    int fd = open_command(command);

    for (int i = 0; i < SCRIPTS_MOST && fd >= 0; i++) {
        kind = program_kind(fd, read_at);
        if (kind != PROGRAM_UNKNOWN || !program_script(fd, read_at, script, sizeof(script)))
            break;
        close(fd);
        fd = open_file(script);
    }
    if (fd >= 0)
        close(fd);
    return program_refuses(kind);
}
