/* linux_cgroup - see linux_cgroup.h. */
#include "platform/linux_cgroup.h"

#include "base/memory.h"
#include "platform/linux_procfs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The number in a file: the one after `key`, or the first. ABSENT: no such file or key. */
static uint64_t number_in(const char *path, const char *key)
{
    char text[1024];
    const char *s = text;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return ABSENT;
    text[n] = '\0';
    if (key) {
        s = strstr(text, key);
        if (!s)
            return ABSENT;
        s += strlen(key);
    }
    return strtoull(s, NULL, 10);
}

/* The path behind `key` in the text of /proc/self/cgroup; false: no such line. */
static bool path_of(const char *membership, const char *key, char *out, size_t room)
{
    const char *s = membership;
    size_t len = strlen(key);

    for (; s && *s; s = strchr(s, '\n'), s += s ? 1 : 0) {
        const char *second = strchr(s, ':');

        if (!second || strncmp(second, key, len))
            continue;
        snprintf(out, room, "%.*s", (int)strcspn(second + len, "\n"), second + len);
        return true;
    }
    return false;
}

/* Is nobody else in the group? */
static bool alone(const char *directory, const int pids[2])
{
    char path[600], text[256];
    const char *at = text;
    char *next;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "%s/cgroup.procs", directory);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    for (long pid; (pid = strtol(at, &next, 10)) > 0 && next != at; at = next)
        if (pid != pids[0] && pid != pids[1])
            return false;
    return true;
}

/* Version 2. Since Linux 6.12 a write starts the peak of this descriptor anew. */
static bool open_unified(struct cgroup *c, const char *directory, const int pids[2])
{
    char path[600];

    snprintf(c->events, sizeof(c->events), "%.480s/memory.events", directory);
    c->kills = number_in(c->events, "oom_kill ");
    if (c->kills == ABSENT)
        return false;
    snprintf(path, sizeof(path), "%s/memory.peak", directory);
    if (alone(directory, pids)) {
        c->peak = open(path, O_RDWR | O_CLOEXEC);
        if (c->peak < 0)
            c->peak = open(path, O_RDONLY | O_CLOEXEC);
        else
            (void)!write(c->peak, "reset\n",
                         6); /* an older kernel: the peak since the group began */
    }
    return true;
}

void cgroup_open(struct cgroup *c, const char *mount, const char *membership, const int pids[2])
{
    char path[256], directory[400];

    *c = (struct cgroup){.peak = -1, .kills = ABSENT};
    if (path_of(membership, "::", path, sizeof(path))) {
        snprintf(directory, sizeof(directory), "%.120s%s", mount, path);
        if (open_unified(c, directory, pids))
            return;
    }
    if (path_of(membership, ":memory:", path, sizeof(path))) { /* version 1 */
        snprintf(c->events, sizeof(c->events), "%.120s/memory%s/memory.oom_control", mount, path);
        c->kills = number_in(c->events, "oom_kill ");
    }
}

uint64_t cgroup_peak(const struct cgroup *c)
{
    char text[32];
    ssize_t n = c->peak < 0 ? -1 : pread(c->peak, text, sizeof(text) - 1, 0);

    if (n <= 0)
        return ABSENT;
    text[n] = '\0';
    return strtoull(text, NULL, 10);
}

uint64_t cgroup_kills(const struct cgroup *c)
{
    uint64_t now = c->kills == ABSENT ? ABSENT : number_in(c->events, "oom_kill ");

    return now == ABSENT || now < c->kills ? ABSENT : now - c->kills;
}

void cgroup_close(struct cgroup *c)
{
    if (c->peak >= 0)
        close(c->peak);
    c->peak = -1;
}

/* ---- the contract ---- */

struct group_kept {
    struct cgroup cgroup;
};

void group_open(struct group *g, const int pids[2])
{
    char membership[2048];

    g->kept = NULL;
    if (proc_slurp("self/cgroup", membership, sizeof(membership)) <= 0)
        return;
    g->kept = memory_zeroed(sizeof(*g->kept));
    cgroup_open(&g->kept->cgroup, "/sys/fs/cgroup", membership, pids);
}

uint64_t group_peak(const struct group *g)
{
    return g->kept ? cgroup_peak(&g->kept->cgroup) : ABSENT;
}

uint64_t group_kills(const struct group *g)
{
    return g->kept ? cgroup_kills(&g->kept->cgroup) : ABSENT;
}

void group_close(struct group *g)
{
    if (g->kept)
        cgroup_close(&g->kept->cgroup);
    free(g->kept);
    g->kept = NULL;
}
