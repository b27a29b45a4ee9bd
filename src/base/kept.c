/* kept - see kept.h. A file is written under a name of its own and then renamed, so that those who
 * read see the old one or the new one. Its date of change says when it was used last.
 */
#include "base/kept.h"

#include "base/clock.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DAY_S 86400
#define UNUSED_MOST_S ((time_t)60 * DAY_S)
#define UNFINISHED_MOST_S 3600           /* what a writer left behind that died */
#define BYTES_MOST ((uint64_t)256 << 20) /* of all files */
#define FILES_MOST 2000
#define UNFINISHED ".unfinished"

static bool off;

/* ---- the folder ---- */

/* Nobody else may have put anything there. */
static bool is_ours(int fd, mode_t type, mode_t refused)
{
    struct stat at;

    return fstat(fd, &at) == 0 && (at.st_mode & S_IFMT) == type && at.st_uid == geteuid() &&
           !(at.st_mode & refused);
}

static int checked(int fd, mode_t type, mode_t refused)
{
    if (fd < 0 || is_ours(fd, type, refused))
        return fd;
    close(fd);
    return -1;
}

/* The folder `name` in the one that is open, which is closed; made where it is not there. */
static int enter(int parent, const char *name, int how, mode_t refused)
{
    int fd;

    if (parent < 0)
        return -1;
    mkdirat(parent, name, 0700);
    fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | how);
    close(parent);
    return checked(fd, S_IFDIR, refused);
}

static int open_folder(const char *path)
{
    int fd = path && path[0] == '/' ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    return checked(fd, S_IFDIR, S_IWOTH);
}

static int open_base(void)
{
    const char *given = getenv("XDG_CACHE_HOME");

    if (!given || !given[0])
        return enter(open_folder(getenv("HOME")), ".cache", 0, S_IWOTH);
    mkdir(given, 0700);
    return open_folder(given);
}

/* -1: there is none. Looked for once. */
static int folder(void)
{
    static bool looked;
    static int found = -1;

    if (!looked && !off)
        found = enter(open_base(), "tidemark", O_NOFOLLOW, 077);
    looked = true;
    return off ? -1 : found;
}

void kept_off(void)
{
    off = true;
}

bool kept_any(void)
{
    return folder() >= 0;
}

/* ---- one file ---- */

/* Used today: that is all that is written for a file that is only read. */
static void note_use(int fd)
{
    struct stat file;

    if (fstat(fd, &file) == 0 && time(NULL) - file.st_mtime > DAY_S)
        futimens(fd, NULL);
}

int kept_open(const char *name)
{
    int fd = -1;

    if (kept_any())
        fd = checked(openat(folder(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC),
                     S_IFREG, S_IWGRP | S_IWOTH);
    if (fd >= 0)
        note_use(fd);
    return fd;
}

/* ---- staying small ---- */

struct kept {
    char name[NAME_MAX + 1];
    time_t used;
    uint64_t bytes;
};

struct kept_list {
    struct kept *list;
    size_t count, room;
    uint64_t bytes;
};

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name);

    return length > strlen(end) && strcmp(name + length - strlen(end), end) == 0;
}

static void look_at(struct kept_list *l, const char *name)
{
    bool unfinished = ends_with(name, UNFINISHED);
    time_t most = unfinished ? UNFINISHED_MOST_S : UNUSED_MOST_S;
    struct kept k = {0};
    struct stat file;

    if (fstatat(folder(), name, &file, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(file.st_mode))
        return;
    if (time(NULL) - file.st_mtime > most) {
        unlinkat(folder(), name, 0);
        return;
    }
    snprintf(k.name, sizeof(k.name), "%s", name);
    k.used = file.st_mtime;
    k.bytes = (uint64_t)file.st_size;
    memory_fit(l->list, l->room, l->count + 1);
    l->list[l->count++] = k;
    l->bytes += k.bytes;
}

static int by_use(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;

    return x->used < y->used ? -1 : x->used > y->used;
}

/* A quarter more than must go, so that it is not done every time. */
static void make_room(struct kept_list *l)
{
    size_t left = l->count;

    if (l->bytes <= BYTES_MOST && l->count <= FILES_MOST)
        return;
    memory_sort(l->list, l->count, sizeof(*l->list), by_use);
    for (size_t i = 0; i < l->count; i++) {
        if (l->bytes <= BYTES_MOST / 4 * 3 && left <= FILES_MOST / 4 * 3)
            return;
        unlinkat(folder(), l->list[i].name, 0);
        l->bytes -= l->list[i].bytes;
        left--;
    }
}

static void tidy(void)
{
    struct kept_list l = {0};
    int fd = openat(folder(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    while (list && (entry = readdir(list)))
        look_at(&l, entry->d_name);
    if (list)
        closedir(list);
    else if (fd >= 0)
        close(fd);
    make_room(&l);
    free(l.list);
}

/* ---- writing ---- */

void kept_put(const char *name, bool (*write)(int fd, const void *from, size_t size),
              const void *from, size_t size)
{
    char unfinished[NAME_MAX];
    bool written;
    int fd;

    if (!kept_any())
        return;
    tidy();
    snprintf(unfinished, sizeof(unfinished), "%ld-%" PRIx64 UNFINISHED, (long)getpid(),
             clock_ns(CLOCK_REALTIME));
    fd = openat(folder(), unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    written = write(fd, from, size);
    if (close(fd) < 0 || !written || renameat(folder(), unfinished, folder(), name) < 0)
        unlinkat(folder(), unfinished, 0);
}
