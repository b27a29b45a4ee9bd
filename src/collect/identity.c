/* identity - see identity.h.
 *
 * A process that presented itself is known by the pid that the kernel gave us then, however short
 * it lived, and also if it has become another program by exec since. One that could not do that (it
 * filters its system calls, has no descriptor left, is in another network namespace) has to have
 * the ring mapped, or to have ended. In another namespace it is looked for: the kernel says of each
 * process how it is numbered there (NSpid), and which part of our memory it has mapped. That takes
 * a look at many processes, but only for such.
 */
#include "collect/identity.h"

#include "platform/linux_procfs.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STATUS_ROOM 4096
#define GENERATIONS_MOST 256

/* ---- what is mapped ---- */

/* One line of maps: "start-end perms offset device inode path". */
static bool line_is(const char *line, uint64_t inode, uint64_t offset)
{
    uint64_t start, end, at, number;

    return sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %" SCNu64, &start, &end, &at,
                  &number) == 4 &&
           number == inode && at <= offset && offset - at < end - start;
}

enum identity_answer identity_maps(int pid, uint64_t inode, uint64_t offset)
{
    enum identity_answer answer = IDENTITY_NO;
    char name[32], line[512];
    FILE *file;

    snprintf(name, sizeof(name), "/proc/%d/maps", pid);
    file = fopen(name, "re");
    if (!file)
        return IDENTITY_UNKNOWN;
    while (answer == IDENTITY_NO && fgets(line, sizeof(line), file))
        if (line_is(line, inode, offset))
            answer = IDENTITY_YES;
    if (ferror(file)) /* it may not be looked into, or is just going */
        answer = IDENTITY_UNKNOWN;
    fclose(file);
    return answer;
}

/* ---- another namespace ---- */

static uint64_t namespace_of(const char *process)
{
    char path[48];
    struct stat st;

    snprintf(path, sizeof(path), "/proc/%s/ns/pid", process);
    return stat(path, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* Its pid in the innermost namespace that it is in: the last number of the line. */
static int innermost_pid(int pid)
{
    char name[32], text[STATUS_ROOM];
    const char *line, *end, *last;

    snprintf(name, sizeof(name), "%d/status", pid);
    if (proc_slurp(name, text, sizeof(text)) <= 0 || !(line = strstr(text, "\nNSpid:")))
        return 0;
    end = strchr(line + 1, '\n');
    for (last = end ? end : text + strlen(text); last > line && last[-1] != '\t'; last--)
        ;
    return atoi(last);
}

uint64_t identity_namespace(void)
{
    static uint64_t own; /* it stays */

    return own ? own : (own = namespace_of("self"));
}

static bool fits(const struct identity_claim *c, int pid)
{
    char process[16];

    snprintf(process, sizeof(process), "%d", pid);
    return innermost_pid(pid) == c->pid &&
           (!c->namespace || namespace_of(process) == c->namespace) &&
           identity_maps(pid, c->inode, c->offset) == IDENTITY_YES;
}

struct search {
    const struct identity_claim *claim;
    int found;
};

static void visit(int pid, void *context)
{
    struct search *s = context;

    if (!s->found && fits(s->claim, pid))
        s->found = pid;
}

static int find_child(const struct identity_claim *c)
{
    struct search s = {c, 0};
    struct proc parent;

    if (!c->parent || proc_open(&parent, c->parent, false) < 0)
        return 0;
    proc_children(&parent, 1, visit, &s);
    proc_close(&parent);
    return s.found;
}

static int find_anywhere(const struct identity_claim *c)
{
    DIR *dir = opendir("/proc");
    struct dirent *e;
    int found = 0;

    while (!found && dir && (e = readdir(dir))) {
        int pid = atoi(e->d_name);

        if (pid > 0 && fits(c, pid))
            found = pid;
    }
    if (dir)
        closedir(dir);
    return found;
}

/* ---- our own ---- */

/* 1: *r is filled; 0: it is gone; -1: we cannot know. */
static int look_at(int pid, struct proc_reading *r)
{
    char name[32], text[1024];

    snprintf(name, sizeof(name), "%d/stat", pid);
    if (proc_slurp(name, text, sizeof(text)) > 0)
        return proc_parse_stat(text, r) == 0 ? 1 : -1;
    return kill(pid, 0) < 0 && errno == ESRCH ? 0 : -1;
}

/* We adopt orphans of our command: every process of it descends from us. */
bool identity_descends(int pid, bool (*ours)(void *context, int pid), void *context)
{
    for (int i = 0; i < GENERATIONS_MOST && pid > 1; i++) {
        struct proc_reading r = {0};

        if (pid == getpid() || (i && ours(context, pid)))
            return true;
        if (look_at(pid, &r) != 1)
            return false;
        pid = r.ppid;
    }
    return false;
}

/* On its way to that, a process has given up its memory, and takes long for it if it has much. */
static bool is_over(int pid)
{
    struct proc_reading r = {0};

    return !look_at(pid, &r) || r.ending || r.state == 'Z' || r.state == 'X';
}

/* One that has ended, also while we ask, is nobody else either. */
static bool is_plausible(const struct identity_claim *c)
{
    return c->pid > 0 &&
           (c->presented == c->pid || identity_maps(c->pid, c->inode, c->offset) == IDENTITY_YES ||
            is_over(c->pid));
}

/* Who presents itself as another, or is none of ours, is not that one, as long as this can be seen.
 */
static bool is_presented(const struct identity_claim *c, bool (*ours)(void *context, int pid),
                         void *context)
{
    int inner = c->presented ? innermost_pid(c->presented) : 0;

    return c->presented &&
           (!inner || (inner == c->pid &&
                       (identity_descends(c->presented, ours, context) || is_over(c->presented))));
}

int identity_find(const struct identity_claim *c, bool (*ours)(void *context, int pid),
                  void *context)
{
    int found;

    if (c->namespace && c->namespace == identity_namespace())
        return is_plausible(c) ? c->pid : 0;
    if (is_presented(c, ours, context))
        return c->presented;
    if (fits(c, c->pid))
        return c->pid;
    found = find_child(c);
    if (!found)
        found = find_anywhere(c);
    if (!found && !c->namespace && identity_descends(c->pid, ours, context))
        found = c->pid; /* it sees no /proc, or has not said who it is */
    return found;
}

/* ---- the same one ---- */

uint64_t identity_birth(int pid)
{
    struct proc_reading r = {0};

    return pid > 0 && look_at(pid, &r) == 1 ? r.start_ticks : 0;
}

bool identity_gone(int pid, uint64_t birth)
{
    struct proc_reading r = {0};
    int known = pid > 0 ? look_at(pid, &r) : -1;

    if (known < 0)
        return false;
    if (!known || (birth && r.start_ticks != birth))
        return true;
    return (r.state == 'Z' || r.state == 'X') &&
           r.threads <= 1; /* the first thread may end first */
}
