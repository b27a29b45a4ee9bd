/* ringfile - see ringfile.h.
 *
 * To open it by its path takes a /proc, the rights of the collector's user and a free descriptor. A
 * forked child may have none of these any more, but it has the first part mapped, and can map more
 * of the same file by that.
 */
#include "inject/ringfile.h"

#include "inject/ask.h"
#include "inject/sys.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define RING_BYTES (RING_WORDS * 8ul)

static char file_path[64], library_path[64];
static struct {
    dev_t device;
    ino_t inode;
} file;

bool ringfile_name(const char *path)
{
    if (!path || strncmp(path, "/proc/", 6) || strlen(path) >= sizeof(file_path))
        return false;
    memcpy(file_path, path, strlen(path) + 1);
    return true;
}

const char *ringfile_path(void)
{
    return file_path;
}

/* In another pid namespace the path may be that of somebody else's file. */
static int open_file(struct stat *st)
{
    long fd = sys_call(SYS_openat, AT_FDCWD, (long)file_path, O_RDWR | O_CLOEXEC | O_NONBLOCK, 0, 0,
                       0);

    if (sys_failed(fd))
        return -1;
    if (!sys_failed(sys_call(SYS_fstat, fd, (long)st, 0, 0, 0, 0)) && S_ISREG(st->st_mode))
        return (int)fd;
    sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
    return -1;
}

static bool is_control(const struct ring_control *c)
{
    return c->magic == RING_MAGIC && c->slots == RING_SLOTS && c->words == RING_WORDS;
}

/* A descriptor of the collector's beside the one that the ring is of. */
static void name_library(uint32_t descriptor)
{
    const char *slash = strrchr(file_path, '/');
    size_t bytes = slash ? (size_t)(slash + 1 - file_path) : 0;

    library_path[0] = '\0';
    if (!descriptor || !bytes || bytes + SYS_DIGITS > sizeof(library_path))
        return;
    memcpy(library_path, file_path, bytes);
    sys_number(library_path + bytes, (int)descriptor);
}

static struct ring_control *map_first(int fd, const struct stat *st)
{
    struct ring_control *c = NULL;

    if ((uint64_t)st->st_size >= RING_RINGS_OFFSET)
        c = sys_share(fd, 0, RING_RINGS_OFFSET);
    if (c && !is_control(c)) {
        sys_unmap(c, RING_RINGS_OFFSET);
        return NULL;
    }
    if (!c)
        return NULL;
    file.device = st->st_dev;
    file.inode = st->st_ino;
    name_library(c->library);
    return c;
}

static struct ring_control *map_given(int fd)
{
    struct ring_control *c = NULL;
    struct stat st = {0};

    if (fd < 0)
        return NULL;
    if (!sys_failed(sys_call(SYS_fstat, fd, (long)&st, 0, 0, 0, 0)) && S_ISREG(st.st_mode))
        c = map_first(fd, &st);
    sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
    return c;
}

struct ring_control *ringfile_open(void)
{
    struct ring_control *c = NULL;
    struct stat st = {0};
    int fd = open_file(&st);

    if (fd >= 0) {
        c = map_first(fd, &st);
        sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
    }
    return c ? c : map_given(ask_collector(file_path));
}

struct ring_control *ringfile_take(int fd)
{
    struct stat st = {0};

    file_path[0] = '\0';
    if (sys_failed(sys_call(SYS_fstat, fd, (long)&st, 0, 0, 0, 0)))
        return NULL;
    return map_first(fd, &st);
}

const char *ringfile_library(void)
{
    return *library_path ? library_path : NULL;
}

static uint64_t *map_by_path(unsigned int slot)
{
    uint64_t *ring = NULL;
    struct stat st = {0};
    int fd = open_file(&st);

    if (fd < 0)
        return NULL;
    if (st.st_dev == file.device && st.st_ino == file.inode)
        ring = sys_share(fd, RING_RINGS_OFFSET + slot * RING_BYTES, RING_BYTES);
    sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
    return ring;
}

/* The path last: there may be less room for addresses than the first way takes. */
uint64_t *ringfile_ring(const struct ring_control *c, unsigned int slot)
{
    uint64_t *ring = sys_share_again(c, RING_RINGS_OFFSET + slot * RING_BYTES, RING_BYTES);

    return ring ? ring : map_by_path(slot);
}
