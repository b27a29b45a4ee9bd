/* admits - see admits.h. */
#include "inject/admits.h"

#include "inject/objects.h"
#include "inject/process.h"
#include "inject/ringfile.h"
#include "inject/sys.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOADER_PATH_MOST 256

struct identity {
    dev_t device;
    ino_t inode;
    bool known;
};

static struct identity own_library, own_loader, own_root;

static struct identity identify(const char *path)
{
    struct stat st = {0};

    if (sys_failed(sys_call(SYS_newfstatat, AT_FDCWD, (long)path, (long)&st, 0, 0, 0)))
        return (struct identity){0};
    return (struct identity){st.st_dev, st.st_ino, true};
}

static bool is_same(struct identity a, struct identity b)
{
    return a.known && b.known && a.device == b.device && a.inode == b.inode;
}

void admits_start(void)
{
    struct object o;

    own_root = identify("/");
    if (process_library())
        own_library = identify(process_library());
    if (process_library() && strncmp(process_library(), "/proc/", 6) == 0)
        preload_forget(process_library(), environ);
    if (objects_find((const void *)_r_debug.r_ldbase, &o))
        own_loader = identify(o.map->l_name);
}

bool admits_for_now(const struct preload *p)
{
    return strncmp(p->instead ? p->instead : p->library, "/proc/", 6) == 0;
}

static bool leads_to_us(const char *path)
{
    return path && is_same(own_library, identify(path));
}

/* A copy without a name is of this process alone. */
static bool is_shared(const char *library, const char *other)
{
    return strncmp(library, "/proc/", 6) != 0 || (other && strcmp(library, other) == 0);
}

bool admits_is_our_loader(int program)
{
    struct stat st = {0};

    return !sys_failed(sys_call(SYS_fstat, program, (long)&st, 0, 0, 0, 0)) &&
           is_same(own_loader, (struct identity){st.st_dev, st.st_ino, true});
}

bool admits_preload(struct preload *out)
{
    const char *library = process_library(), *other = ringfile_library();
    bool recorded = process_has_collector();

    if (!library || !*ringfile_path()) /* no path: its memory was handed over */
        return false;
    *out = (struct preload){.library = library, .ring = ringfile_path()};
    if (!own_library.known || leads_to_us(library))
        return recorded && is_shared(library, other);
    if (recorded && leads_to_us(other))
        out->instead = other;
    else
        out->out = true;
    return true;
}

enum ring_start admits_why_not(void)
{
    return is_same(own_root, identify("/")) ? RING_START_UNSEEN : RING_START_ROOT;
}

/* It comes with its libc. Ours is good: this process has it. */
bool admits_loader(int program, program_read *read)
{
    char path[LOADER_PATH_MOST], libc[LOADER_PATH_MOST];
    bool suits = true;
    long fd = -1;

    if (!program_loader(program, read, path, sizeof(path)) || is_same(own_loader, identify(path)))
        return true;
    for (unsigned int i = 0; sys_failed(fd) && program_libc(path, i, libc, sizeof(libc)); i++)
        fd = sys_call(SYS_openat, AT_FDCWD, (long)libc, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (sys_failed(fd))
        return true;
    suits = program_libc_suits((int)fd, read);
    sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
    return suits;
}
