/* obstacle - see obstacle.h. A program is judged by its file, as the kernel would take it: the file
 * that runs, the one that a name is found at, or the interpreter of a script; then by the loader
 * and the root folder that it will see.
 */
#include "attach/obstacle.h"

#include "preload/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRIPTS_MOST 4 /* that run each other, as in the kernel */
#define KNOWN 64u      /* programs that are remembered */

static long read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
    return pread(fd, to, bytes, (off_t)offset);
}

static const struct obstacle obstacles[PROGRAM_KINDS] = {
    [PROGRAM_OTHER_MACHINE] = {OBSTACLE_MACHINE, false},
    [PROGRAM_STATIC] = {OBSTACLE_STATIC, false},
    [PROGRAM_OTHER_LOADER] = {OBSTACLE_LIBC, false},
    [PROGRAM_OLD_LOADER] = {OBSTACLE_OLD_LIBC, false},
    [PROGRAM_SANITIZED] = {OBSTACLE_SANITIZED, false},
    [PROGRAM_OWN_MALLOC] =
        {"it has its own malloc linked in: only its mappings are recorded, and what it reports through tidemark.h",
         true},
};
static const struct obstacle other_rights = {OBSTACLE_USER, false};
static const struct obstacle other_root = {OBSTACLE_ROOT, false};

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

/* Most programs have the same. */
static bool suits(int libc)
{
    static dev_t device;
    static ino_t inode;
    struct stat st;

    if (fstat(libc, &st) < 0)
        return true;
    if (inode && st.st_dev == device && st.st_ino == inode)
        return true;
    if (!program_libc_suits(libc, read_at))
        return false;
    device = st.st_dev;
    inode = st.st_ino;
    return true;
}

/* Which loader it will have, and so which libc; of a process from its own root. */
static bool has_old_libc(int program, const char *root)
{
    char loader[256], libc[256], path[PATH_MAX];
    bool old = false;
    int fd = -1;

    if (!program_loader(program, read_at, loader, sizeof(loader)))
        return false;
    for (unsigned int i = 0; fd < 0 && program_libc(loader, i, libc, sizeof(libc)); i++)
        if (snprintf(path, sizeof(path), "%s%s", root, libc) < PATH_MAX)
            fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    old = !suits(fd);
    close(fd);
    return old;
}

/* Builds run a few programs again and again, and each takes some forty reads: those that were read
 * last are remembered, while their files are what they were.
 */
struct known {
    dev_t device;
    ino_t inode; /* 0: none is remembered */
    off_t bytes;
    struct timespec written, changed;
    enum program_kind kind;
};

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool is_known(const struct known *k, const struct stat *st)
{
    return k->inode && k->inode == st->st_ino && k->device == st->st_dev &&
           k->bytes == st->st_size && same_time(k->written, st->st_mtim) &&
           same_time(k->changed, st->st_ctim);
}

static struct known *known_at(const struct stat *st)
{
    static struct known all[KNOWN];

    return &all[st->st_ino % KNOWN];
}

static enum program_kind kind_of(int fd)
{
    struct known *k;
    struct stat st;

    if (fstat(fd, &st) < 0)
        return program_kind(fd, read_at);
    k = known_at(&st);
    if (!is_known(k, &st))
        *k = (struct known){st.st_dev,  st.st_ino,  st.st_size,
                            st.st_mtim, st.st_ctim, program_kind(fd, read_at)};
    return k->kind;
}

static enum program_kind kind_in(int fd, const char *root)
{
    enum program_kind kind = kind_of(fd);

    if (!program_refuses(kind) && kind != PROGRAM_STATIC && has_old_libc(fd, root))
        return PROGRAM_OLD_LOADER;
    return kind;
}

static const struct obstacle *obstacle_in(int fd, int pid)
{
    enum program_kind kind;
    char root[32];

    snprintf(root, sizeof(root), "/proc/%d/root", pid);
    kind = kind_in(fd, root);
    return obstacles[kind].text ? &obstacles[kind] : NULL;
}

bool obstacle_is_programs(const struct obstacle *o)
{
    for (int i = 0; i < PROGRAM_KINDS; i++)
        if (o == &obstacles[i])
            return true;
    return false;
}

static bool has_other_root(int pid)
{
    struct stat ours, its;
    char root[32];

    snprintf(root, sizeof(root), "/proc/%d/root", pid);
    return stat("/", &ours) == 0 && stat(root, &its) == 0 &&
           (ours.st_dev != its.st_dev || ours.st_ino != its.st_ino);
}

const struct obstacle *obstacle_in_program(int pid)
{
    const struct obstacle *found;
    int fd = open_program(pid);

    if (fd < 0)
        return NULL;
    found = obstacle_in(fd, pid);
    close(fd);
    return found;
}

const struct obstacle *obstacle_of(int pid)
{
    const struct obstacle *found;
    int fd = open_program(pid);

    if (fd < 0) /* nobody else keeps us from looking */
        return errno == EACCES || errno == EPERM ? &other_rights : NULL;
    found = obstacle_in(fd, pid);
    if (!found && is_foreign(pid, fd))
        found = &other_rights;
    if (!found && has_other_root(pid))
        found = &other_root;
    close(fd);
    return found;
}

/* A program told us the name: opening a pipe would wait, and opening a device may do anything. */
static int open_named(const char *file)
{
    int place = open(file, O_PATH | O_CLOEXEC), fd = -1;
    struct stat st;
    char path[32];

    if (place >= 0 && fstat(place, &st) == 0 && S_ISREG(st.st_mode)) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (place >= 0)
        close(place);
    return fd;
}

static enum program_kind kind_of_named(const char *file)
{
    enum program_kind kind = PROGRAM_UNKNOWN;
    struct stat st;
    int fd;

    if (stat(file, &st) == 0 && is_known(known_at(&st), &st))
        return known_at(&st)->kind; /* it need not be opened */
    fd = open_named(file);
    if (fd >= 0) {
        kind = kind_of(fd);
        close(fd);
    }
    return kind;
}

const struct obstacle *obstacle_in_file(const char *file)
{
    enum program_kind kind = kind_of_named(file);

    return obstacles[kind].text ? &obstacles[kind] : NULL;
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

static enum program_kind kind_of_command(const char *command)
{
    enum program_kind kind = PROGRAM_UNKNOWN;
    char script[256];
    int fd = open_command(command);

    for (int i = 0; i < SCRIPTS_MOST && fd >= 0; i++) {
        kind = kind_in(fd, "");
        if (kind != PROGRAM_UNKNOWN || !program_script(fd, read_at, script, sizeof(script)))
            break;
        close(fd);
        fd = open_file(script);
    }
    if (fd >= 0)
        close(fd);
    return kind;
}

bool obstacle_breaks(const char *command)
{
    return program_refuses(kind_of_command(command));
}

const struct obstacle *obstacle_in_command(const char *command)
{
    enum program_kind kind = kind_of_command(command);

    return obstacles[kind].text ? &obstacles[kind] : NULL;
}
