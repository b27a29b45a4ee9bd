/* linux_procfs - see linux_procfs.h. */
#include "platform/linux_procfs.h"

#include "base/clock.h"
#include "base/count.h"
#include "base/descriptor.h"
#include "base/memory.h"
#include "platform/linux_kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int kept_file(int pid, const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

struct proc_kept *kept_new(void)
{
    struct proc_kept *k = memory_zeroed(sizeof(*k));

    k->stat = k->status = k->io = k->statm = -1;
    return k;
}

/* Read from the kept descriptor, or open the file for once. The text ends with a NUL. */
static ssize_t read_kept(int fd, int pid, const char *name, char *out, size_t room)
{
    int once = fd < 0 ? kept_file(pid, name) : fd;
    ssize_t n = once < 0 ? -1 : pread(once, out, room - 1, 0);
    int error = errno;

    if (fd < 0 && once >= 0)
        close(once);
    errno = error;
    if (n >= 0)
        out[n] = '\0';
    return n;
}

long proc_slurp(const char *name, char *out, size_t room)
{
    char path[128];
    size_t used = 0;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%s", name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    while (used + 1 < room && (n = read(fd, out + used, room - 1 - used)) > 0)
        used += (size_t)n;
    close(fd);
    out[used] = '\0';
    return (long)used;
}

static int kept_stat(const struct proc *p)
{
    return p->kept ? p->kept->stat : -1;
}

int proc_open(struct proc *p, int pid, bool keep)
{
    int stat;

    *p = (struct proc){.pid = pid};
    if (!keep)
        return 0;
    stat = descriptor_keep(kept_file(pid, "stat"));
    if (stat < 0 && (errno == ENOENT || errno == ESRCH))
        return -1;
    p->kept = kept_new();
    p->kept->stat = stat;
    p->kept->status = descriptor_keep(kept_file(pid, "status"));
    return 0;
}

bool proc_may_be_another(const struct proc *p)
{
    return kept_stat(p) < 0;
}

void proc_close(struct proc *p)
{
    struct proc_kept *k = p->kept;

    if (k) {
        const int kept[] = {k->stat, k->status, k->io, k->statm};

        for (int i = 0; i < COUNT(kept); i++)
            if (kept[i] >= 0)
                close(kept[i]);
        while (k->thread_count)
            threads_drop(k, k->thread_count - 1);
        free(k->threads);
        free(k);
    }
    *p = (struct proc){0};
}

int proc_read_stat(struct proc *p, struct proc_reading *r)
{
    char text[1024];

    if (read_kept(kept_stat(p), p->pid, "stat", text, sizeof(text)) <= 0)
        return errno == EMFILE || errno == ENFILE ? 0 : -1;
    return proc_parse_stat(text, r);
}

int proc_read_status(struct proc *p, struct proc_reading *r)
{
    char text[4096];

    if (read_kept(p->kept ? p->kept->status : -1, p->pid, "status", text, sizeof(text)) <= 0)
        return -1;
    proc_parse_status(text, r);
    return 0;
}

bool proc_is_still(struct proc *p)
{
    struct proc_kept *k = p->kept;
    char text[sizeof(k->sizes)];
    bool still;

    if (k && k->statm < 0 && k->stat >= 0)
        k->statm = descriptor_keep(kept_file(p->pid, "statm"));
    if (!k || k->statm < 0 || read_kept(k->statm, p->pid, "statm", text, sizeof(text)) <= 0)
        return false;
    still = !strcmp(text, k->sizes);
    memcpy(k->sizes, text, sizeof(text));
    return still;
}

bool proc_read_io(const struct proc *p, char *out, size_t room)
{
    struct proc_kept *k = p->kept;
    int io;

    if (k && k->io < 0 && k->stat >= 0)
        k->io = descriptor_keep(kept_file(p->pid, "io"));
    io = k ? k->io : -1;
    return (io >= 0 || kept_stat(p) < 0) && read_kept(io, p->pid, "io", out, room) > 0;
}

void proc_read_details(struct proc *p, struct proc_reading *r)
{
    clockid_t clock = (clockid_t)(~(unsigned)p->pid << 3 | 2); /* the CPU clock of a process */
    struct timespec ts;

    threads_switches(p, r);
    r->cpu_ns = ABSENT;
    if (!clock_gettime(clock, &ts))
        r->cpu_ns = clock_ns_of(ts);
}

void proc_read_pss(struct proc *p, struct proc_reading *r)
{
    char text[2048];
    const char *s;

    /* Never kept: this file pins the memory image it was opened on, and misses an exec. */
    r->pss = ABSENT;
    if (read_kept(-1, p->pid, "smaps_rollup", text, sizeof(text)) > 0 &&
        (s = strstr(text, "\nPss:")) != NULL) {
        s += 5;
        r->pss = proc_parse_number(&s) * 1024;
    }
}

void proc_all(void (*visit)(int pid, void *context), void *context)
{
    DIR *dir = opendir("/proc");
    struct dirent *e;

    while (dir && (e = readdir(dir)) != NULL) {
        int pid = atoi(e->d_name);

        if (pid > 0)
            visit(pid, context);
    }
    if (dir)
        closedir(dir);
}

void proc_file(int pid, char *out, size_t room)
{
    char path[32];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    n = readlink(path, out, room - 1);
    out[n > 0 ? n : 0] = '\0';
}

size_t proc_command(int pid, char *out, size_t room)
{
    ssize_t n = read_kept(-1, pid, "cmdline", out, room);

    while (n > 0 && !out[n - 1])
        n--;
    return n > 0 ? (size_t)n : 0;
}

uint64_t proc_most_resident(const struct rusage *usage)
{
    return (uint64_t)usage->ru_maxrss * 1024;
}

bool proc_is_kernel(int pid)
{
    struct proc_reading r = {0};
    struct proc p;

    return !proc_open(&p, pid, false) && !proc_read_stat(&p, &r) && r.state != 'Z' &&
           !proc_read_status(&p, &r) && r.vsz == ABSENT;
}

uint64_t proc_newest(void)
{
    static int kept = -1;
    char text[128];
    const char *s;
    ssize_t n;

    if (kept < 0)
        kept = descriptor_keep(open("/proc/loadavg", O_RDONLY | O_CLOEXEC));
    n = kept < 0 ? proc_slurp("loadavg", text, sizeof(text))
                 : pread(kept, text, sizeof(text) - 1, 0);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    s = strrchr(text, ' ');
    return s ? proc_parse_number(&s) : 0;
}
