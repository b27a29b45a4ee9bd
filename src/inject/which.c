/* which - the program that a call will start, found as the call itself will find it, and looked
 * into. By system calls alone and on the stack: after vfork the memory is the parent's.
 */
#include "inject/which.h"

#include "inject/admits.h"
#include "inject/sys.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_PART_MOST 256
#define SCRIPTS_MOST 4 /* that run each other, as in the kernel */

static long read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
    return sys_call(SYS_pread64, fd, (long)to, (long)bytes, (long)offset, 0, 0);
}

/* To look into a file is harmless only where it is one. The calls are those of any loader, in case
 * that this process is confined and we do not know.
 */
static int open_file(int folder, const char *path)
{
    struct stat st = {0};
    long fd;

    if (sys_failed(sys_call(SYS_newfstatat, folder, (long)path, (long)&st, 0, 0, 0)) ||
        !S_ISREG(st.st_mode) || !(st.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)))
        return -1;
    fd = sys_call(SYS_openat, folder, (long)path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    return sys_failed(fd) ? -1 : (int)fd;
}

static void close_file(int fd)
{
    sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

/* As execvp would find it; only looked into, so a folder of a longer name may be left out. */
static int open_by_search(const char *name)
{
    const char *list = getenv("PATH"), *end;
    char part[PATH_PART_MOST];
    int fd = -1;

    if (strchr(name, '/'))
        return open_file(AT_FDCWD, name);
    for (list = list ? list : "/bin:/usr/bin"; fd < 0; list = end + 1) {
        long folder = AT_FDCWD;

        end = list + strcspn(list, ":");
        if (end - list < PATH_PART_MOST && end > list) {
            memcpy(part, list, (size_t)(end - list));
            part[end - list] = '\0';
            folder = sys_call(SYS_openat, AT_FDCWD, (long)part, O_PATH | O_DIRECTORY | O_CLOEXEC, 0,
                              0, 0);
        }
        if (folder == AT_FDCWD || !sys_failed(folder))
            fd = open_file((int)folder, name);
        if (folder >= 0)
            close_file((int)folder);
        if (!*end)
            break;
    }
    return fd;
}

/* By its descriptor, which may be one that cannot be read from. */
static int open_descriptor(int number)
{
    static const char folder[] = "/proc/self/fd/";
    char path[sizeof(folder) + 12], digits[12];
    size_t at = sizeof(digits);

    if (number < 0)
        return -1;
    digits[--at] = '\0';
    for (; number || at == sizeof(digits) - 1; number /= 10)
        digits[--at] = (char)('0' + number % 10);
    memcpy(path, folder, sizeof(folder) - 1);
    memcpy(path + sizeof(folder) - 1, digits + at, sizeof(digits) - at);
    return open_file(AT_FDCWD, path);
}

static int open_program(const struct call *c)
{
    switch (c->how) {
    case EXECVPE:
    case SPAWNP:
        return open_by_search(c->path);
    case FEXECVE:
        return open_descriptor(c->fd);
    case EXECVEAT:
        return *c->path ? open_file(c->fd, c->path) : open_descriptor(c->fd);
    default:
        return open_file(AT_FDCWD, c->path);
    }
}

static bool has_rights(int fd)
{
    struct stat st = {0};

    if (sys_failed(sys_call(SYS_fstat, fd, (long)&st, 0, 0, 0, 0)))
        return false;
    return ((st.st_mode & S_ISUID) &&
            st.st_uid != (uid_t)sys_call(SYS_geteuid, 0, 0, 0, 0, 0, 0)) ||
           ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) &&
            st.st_gid != (gid_t)sys_call(SYS_getegid, 0, 0, 0, 0, 0, 0));
}

struct found which_program(const struct call *c)
{
    struct found found = {.kind = PROGRAM_UNKNOWN};
    char script[PATH_PART_MOST];
    int fd = c->path || c->how == FEXECVE ? open_program(c) : -1;

    for (int i = 0; i < SCRIPTS_MOST && fd >= 0; i++) {
        found.kind = program_kind(fd, read_at);
        if (found.kind != PROGRAM_UNKNOWN || !program_script(fd, read_at, script, sizeof(script)))
            break;
        close_file(fd);
        fd = open_file(AT_FDCWD, script);
    }
    if (fd >= 0) {
        if (!program_refuses(found.kind) && !admits_loader(fd, read_at))
            found.kind = PROGRAM_OLD_LOADER;
        found.rights = has_rights(fd);
        found.loader = admits_is_our_loader(fd);
        close_file(fd);
    }
    return found;
}
