/* drm_clients - see drm.h. A client is an open file of a DRM device; the file may be open under
 * several numbers and in several processes, and counts once.
 *
 * To look through all files of all processes costs much more than to read what is known, so it is
 * rationed; what was found is kept open. A kept descriptor fails once its process, or the file
 * there, is gone.
 */
#include "gauges/drm.h"

#include "base/clock.h"
#include "base/memory.h"
#include "gauges/fdinfo.h"
#include "gauges/once.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MAJOR_DRM 226
#define MAJOR_ACCEL 261
#define SHARE 250u /* of the time: what looking through all files may take */
#define CLIENTS_MOST 8192

struct client {
    int32_t pid;
    int number, file;     /* its number there; our descriptor of what the kernel says of it */
    uint64_t work, clock; /* when it was read last; ABSENT: never */
};

static struct {
    struct client *client;
    size_t count, room;
    int32_t *process; /* that were looked through, in ascending order */
    size_t process_count, process_room;
    uint64_t again_ns; /* when all are looked through again */
    bool blind;        /* one could not be */
} all;

static bool is_known(int32_t pid, int number)
{
    for (size_t i = 0; i < all.count; i++)
        if (all.client[i].pid == pid && all.client[i].number == number)
            return true;
    return false;
}

static bool is_device(int folder, const char *name)
{
    char path[64];
    struct stat st;
    ssize_t n = readlinkat(folder, name, path, sizeof(path) - 1);

    if (n <= 0)
        return false;
    path[n] = '\0';
    if (!strncmp(path, "/dev/dri/", 9) || !strncmp(path, "/dev/accel/", 11))
        return true;
    return !strncmp(path, "/dev/", 5) && fstatat(folder, name, &st, 0) == 0 &&
           S_ISCHR(st.st_mode) &&
           (major(st.st_rdev) == MAJOR_DRM || major(st.st_rdev) == MAJOR_ACCEL);
}

static void keep(int32_t pid, const char *name)
{
    struct client c = {.pid = pid, .number = atoi(name), .work = ABSENT, .clock = ABSENT};
    char path[4096];

    if (is_known(pid, c.number) || all.count == CLIENTS_MOST ||
        !gauge_path(path, sizeof(path), "proc/%d/fdinfo/%s", pid, name))
        return;
    c.file = open(path, O_RDONLY | O_CLOEXEC);
    if (c.file < 0)
        return;
    memory_fit(all.client, all.room, all.count + 1);
    all.client[all.count++] = c;
}

static void look_through(int32_t pid)
{
    struct dirent *entry;
    char path[4096];
    DIR *folder = gauge_path(path, sizeof(path), "proc/%d/fd", pid) ? opendir(path) : NULL;

    if (!folder) {
        all.blind |= errno == EACCES || errno == EPERM;
        return;
    }
    while ((entry = readdir(folder)))
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' &&
            is_device(dirfd(folder), entry->d_name))
            keep(pid, entry->d_name);
    closedir(folder);
}

static bool was_looked_through(int32_t pid)
{
    struct gauge_asked before = {.pids = all.process, .count = (uint32_t)all.process_count};

    return gauge_is_asked(&before, pid);
}

static void look(const struct gauge_asked *asked)
{
    bool everywhere = asked->now_ns >= all.again_ns;
    uint64_t began = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

    if (everywhere)
        all.blind = false;
    for (uint32_t i = 0; i < asked->count; i++)
        if (everywhere || !was_looked_through(asked->pids[i]))
            look_through(asked->pids[i]);
    if (everywhere)
        all.again_ns = asked->now_ns + (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began) * SHARE;
    memory_fit(all.process, all.process_room, asked->count + 1);
    if (asked->count)
        memcpy(all.process, asked->pids, asked->count * sizeof(*asked->pids));
    all.process_count = asked->count;
}

/* Thousandths of the time since the last reading that its engines worked for it. */
static uint64_t busy_of(struct client *c, const struct fdinfo *f, uint64_t now_ns)
{
    bool clocks = f->cycles != ABSENT && f->total_cycles != ABSENT;
    uint64_t work = clocks ? f->cycles : f->engine_ns, clock = clocks ? f->total_cycles : now_ns;
    uint64_t busy = ABSENT;

    if (work != ABSENT && c->work != ABSENT && clock > c->clock && work >= c->work)
        busy = (uint64_t)((double)(work - c->work) * 1000 / (double)(clock - c->clock));
    c->work = work;
    c->clock = clock;
    return busy == ABSENT || busy <= 1000 ? busy : 1000;
}

static void add(uint64_t *sum, uint64_t part)
{
    if (part != ABSENT)
        *sum = *sum == ABSENT ? part : *sum + part;
}

static void tell(struct client *c, const struct fdinfo *f, uint32_t device,
                 const struct gauge_asked *asked, struct gauge_answer *out)
{
    struct wire_use *u = gauge_use(out, device, c->pid);
    uint64_t shared, used = fdinfo_used(f, &shared);

    if (!u)
        return;
    add(&u->used, used);
    add(&u->shared, shared);
    add(&u->busy, busy_of(c, f, asked->now_ns));
}

static bool is_first(struct once *met, const struct fdinfo *f, uint32_t device)
{
    bool fresh;

    if (f->client == ABSENT)
        return true;
    return once_meet(met, (device + 1ull) << 48 ^ f->client, &fresh) && fresh;
}

/* False: it is a client no longer. */
static bool read_client(const struct drm *d, struct client *c, const struct gauge_asked *asked,
                        struct once *met, struct gauge_answer *out)
{
    char text[4096];
    ssize_t n = gauge_is_asked(asked, c->pid) ? pread(c->file, text, sizeof(text) - 1, 0) : -1;
    struct fdinfo f;
    uint32_t device;

    if (n <= 0)
        return false;
    text[n] = '\0';
    if (!fdinfo_parse(&f, text))
        return false;
    device = drm_find(d, f.driver, f.pdev);
    if (device < d->count && is_first(met, &f, device))
        tell(c, &f, device, asked, out);
    return true;
}

bool drm_clients_read(const struct drm *d, const struct gauge_asked *asked,
                      struct gauge_answer *out)
{
    static struct once met;
    size_t kept = 0;

    look(asked);
    once_forget(&met);
    for (size_t i = 0; i < all.count; i++) {
        if (read_client(d, &all.client[i], asked, &met, out))
            all.client[kept++] = all.client[i];
        else
            close(all.client[i].file);
    }
    all.count = kept;
    return !all.blind;
}
