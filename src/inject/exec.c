/* exec - programs that this one starts with another environment than its own are recorded, too.
 *
 * The functions that take an environment, or use one that the program may have emptied, are given
 * one with our library in it; to a program that the library would break (of another libc, with a
 * sanitizer) one without. All is made on the stack: after vfork the memory is the parent's, and we
 * may stand in a signal handler. If the new environment is too long, the one that was meant is
 * used: recording less is better than not starting.
 *
 * system() and popen() use libc's own functions with `environ`, which has our variables as long as
 * the program leaves them there.
 */
#include "base/program.h"
#include "inject/process.h"
#include "inject/real.h"
#include "inject/sys.h"
#include "trace/preload.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STACK_MOST 32768u /* bytes of an environment that are taken from the stack */
#define PATH_PART_MOST 256
#define SCRIPTS_MOST 4 /* that run each other, as in the kernel */

enum how { EXECVE, EXECVPE, FEXECVE, EXECVEAT, SPAWN, SPAWNP };

struct call {
    enum how how;
    int fd, flags; /* FEXECVE, EXECVEAT */
    const char *path;
    char *const *argv;
    char *const *environment;
    pid_t *pid; /* SPAWN, SPAWNP, with what follows */
    const posix_spawn_file_actions_t *actions;
    const posix_spawnattr_t *attributes;
};

/* ---- which program it will be ---- */

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

static enum program_kind kind_of(const struct call *c)
{
    enum program_kind kind = PROGRAM_UNKNOWN;
    char script[PATH_PART_MOST];
    int fd = c->path || c->how == FEXECVE ? open_program(c) : -1;

    for (int i = 0; i < SCRIPTS_MOST && fd >= 0; i++) {
        kind = program_kind(fd, read_at);
        if (kind != PROGRAM_UNKNOWN || !program_script(fd, read_at, script, sizeof(script)))
            break;
        close_file(fd);
        fd = open_file(AT_FDCWD, script);
    }
    if (fd >= 0)
        close_file(fd);
    return kind;
}

/* ---- to start it ---- */

/* -1 with errno, or for the spawning ones the error's number. */
static int start(const struct call *c, char *const *environment)
{
    const struct real *r = real_now();

    switch (c->how) {
    case EXECVE:
        return r->execve(c->path, c->argv, environment);
    case EXECVPE:
        return r->execvpe(c->path, c->argv, environment);
    case FEXECVE:
        return r->fexecve(c->fd, c->argv, environment);
    case EXECVEAT:
        return r->execveat(c->fd, c->path, c->argv, environment, c->flags);
    case SPAWN:
        return r->posix_spawn(c->pid, c->path, c->actions, c->attributes, c->argv, environment);
    default:
        return r->posix_spawnp(c->pid, c->path, c->actions, c->attributes, c->argv, environment);
    }
}

static bool too_long(const struct call *c, int result)
{
    return c->how >= SPAWN ? result == E2BIG : errno == E2BIG;
}

static OUTLINE int start_with(const struct call *c, const struct preload *p, size_t bytes)
{
    char **environment = preload_make(p, c->environment, __builtin_alloca(bytes));
    int result = start(c, environment);

    return too_long(c, result) ? start(c, c->environment) : result;
}

static int start_recorded(const struct call *c)
{
    struct preload p;
    size_t bytes;

    if (!process_preload(&p))
        return start(c, c->environment);
    p.out = sys_silent || program_refuses(kind_of(c)) ||
            program_lists_sanitizer(preload_value(c->environment));
    bytes = preload_bytes(&p, c->environment);
    if (!bytes || bytes > STACK_MOST)
        return start(c, c->environment);
    return start_with(c, &p, bytes);
}

/* ---- the hooks ---- */

EXPORT int execve(const char *path, char *const argv[], char *const environment[])
{
    return start_recorded(
        &(struct call){.how = EXECVE, .path = path, .argv = argv, .environment = environment});
}

EXPORT int execv(const char *path, char *const argv[])
{
    return start_recorded(
        &(struct call){.how = EXECVE, .path = path, .argv = argv, .environment = environ});
}

EXPORT int execvp(const char *file, char *const argv[])
{
    return start_recorded(
        &(struct call){.how = EXECVPE, .path = file, .argv = argv, .environment = environ});
}

EXPORT int execvpe(const char *file, char *const argv[], char *const environment[])
{
    return start_recorded(
        &(struct call){.how = EXECVPE, .path = file, .argv = argv, .environment = environment});
}

EXPORT int fexecve(int fd, char *const argv[], char *const environment[])
{
    return start_recorded(
        &(struct call){.how = FEXECVE, .fd = fd, .argv = argv, .environment = environment});
}

EXPORT int execveat(int fd, const char *path, char *const argv[], char *const environment[],
                    int flags)
{
    return start_recorded(&(struct call){.how = EXECVEAT,
                                         .fd = fd,
                                         .flags = flags,
                                         .path = path,
                                         .argv = argv,
                                         .environment = environment});
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[],
                       char *const environment[])
{
    return start_recorded(
        &(struct call){SPAWN, -1, 0, path, argv, environment, pid, actions, attributes});
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const argv[],
                        char *const environment[])
{
    return start_recorded(
        &(struct call){SPAWNP, -1, 0, file, argv, environment, pid, actions, attributes});
}

/* Those with a list of words: counted, then gathered on the stack, as libc does. */

static size_t count_words(va_list list)
{
    size_t count = 1;

    while (va_arg(list, char *))
        count++;
    return count;
}

static char **gather(char **argv, const char *first, size_t count, va_list list)
{
    argv[0] = (char *)first;
    for (size_t i = 1; i <= count; i++)
        argv[i] = va_arg(list, char *);
    return argv;
}

EXPORT int execl(const char *path, const char *first, ...)
{
    struct call c = {.how = EXECVE, .path = path, .environment = environ};
    size_t count;
    va_list list;

    va_start(list, first);
    count = count_words(list);
    va_end(list);
    va_start(list, first);
    c.argv = gather(__builtin_alloca((count + 1) * sizeof(char *)), first, count, list);
    va_end(list);
    return start_recorded(&c);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
    struct call c = {.how = EXECVPE, .path = file, .environment = environ};
    size_t count;
    va_list list;

    va_start(list, first);
    count = count_words(list);
    va_end(list);
    va_start(list, first);
    c.argv = gather(__builtin_alloca((count + 1) * sizeof(char *)), first, count, list);
    va_end(list);
    return start_recorded(&c);
}

EXPORT int execle(const char *path, const char *first, ...)
{
    struct call c = {.how = EXECVE, .path = path};
    size_t count;
    va_list list;

    va_start(list, first);
    count = count_words(list);
    va_end(list);
    va_start(list, first);
    c.argv = gather(__builtin_alloca((count + 1) * sizeof(char *)), first, count, list);
    c.environment = va_arg(list, char *const *);
    va_end(list);
    return start_recorded(&c);
}
