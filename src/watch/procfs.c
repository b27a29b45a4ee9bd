#include "watch/procfs.h"

#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define THREADS_DETAILED 64 /* context switches cost a file per thread: above this, n/a */

static int open_file(int pid, const char *name)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* Read from the kept descriptor, or open the file for once. The text ends with a NUL. */
static ssize_t read_kept(int fd, int pid, const char *name, char *out, size_t room)
{
    int once = fd < 0 ? open_file(pid, name) : fd;
    ssize_t n = once < 0 ? -1 : pread(once, out, room - 1, 0);

    if (fd < 0 && once >= 0)
        close(once);
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

int proc_open(struct proc *p, int pid, bool keep)
{
    *p = (struct proc){.pid = pid, .stat = -1, .status = -1, .io = -1, .statm = -1};
    if (!keep)
        return 0;
    p->stat = open_file(pid, "stat");
    if (p->stat < 0 && (errno == ENOENT || errno == ESRCH))
        return -1;
    p->status = open_file(pid, "status");
    return 0;
}

static void thread_drop(struct proc *p, int i)
{
    struct proc_thread *t = &p->threads[i];

    if (t->children >= 0)
        close(t->children);
    p->gone_waited += t->waited;
    p->gone_forced += t->forced;
    *t = p->threads[--p->thread_count];
}

void proc_close(struct proc *p)
{
    int *kept[] = {&p->stat, &p->status, &p->io, &p->statm};

    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        if (*kept[i] >= 0)
            close(*kept[i]);
    while (p->thread_count)
        thread_drop(p, 0);
    free(p->threads);
    *p = (struct proc){.stat = -1, .status = -1, .io = -1, .statm = -1};
}

/* The next number of a line of numbers; a sign is stepped over. */
static uint64_t number(const char **at)
{
    const char *s = *at;
    uint64_t n = 0;

    while (*s == ' ' || *s == '\t' || *s == '-')
        s++;
    for (; *s >= '0' && *s <= '9'; s++)
        n = n * 10 + (uint64_t)(*s - '0');
    *at = s;
    return n;
}

int proc_parse_stat(const char *text, struct proc_reading *r)
{
    const char *name = strchr(text, '('),
               *s = strrchr(text, ')'); /* it may hold anything: ") R 1" */
    uint64_t field[50] = {0};
    size_t len;

    if (!name || !s || s < name || !s[1] || !s[2])
        return -1;
    len = (size_t)(s - name - 1);
    if (len >= sizeof(r->name))
        len = sizeof(r->name) - 1;
    memcpy(r->name, name + 1, len);
    r->name[len] = '\0';
    r->state = s[2];
    s += 3;
    for (int i = 4; i < 50 && *s == ' '; i++) /* numbered as in proc(5) */
        field[i] = number(&s);
    r->ppid = (int)field[4];
    r->minor_faults = field[10];
    r->child_minor_faults = field[11];
    r->major_faults = field[12];
    r->user_ticks = field[14];
    r->system_ticks = field[15];
    r->threads = field[20];
    r->start_ticks = field[22];
    r->vsz = field[23];
    r->ignores_children = field[33] >> (SIGCHLD - 1) & 1;
    r->image = field[26] ? field[28]
                         : 0; /* start of the stack: random for each exec, once it has code */
    return 0;
}

int proc_read_stat(struct proc *p, struct proc_reading *r)
{
    char text[1024];

    if (read_kept(p->stat, p->pid, "stat", text, sizeof(text)) <= 0)
        return -1;
    return proc_parse_stat(text, r);
}

static bool line_is(const char *line, const char *key)
{
    return !strncmp(line, key, strlen(key));
}

/* The value of one line of status, where it is one of those that are wanted. */
static void parse_line(const char *line, struct proc_reading *r)
{
    const char *s = strchr(line, ':');

    if (!s)
        return;
    s++;
    if (line_is(line, "Tgid:"))
        r->tgid = (int)number(&s);
    else if (line_is(line, "voluntary_ctxt_switches:"))
        r->waited = number(&s);
    else if (line_is(line, "nonvoluntary_ctxt_switches:"))
        r->forced = number(&s);
}

void proc_parse_status(const char *text, struct proc_reading *r)
{
    static const struct {
        const char *key;
        size_t offset;
    } sizes[] = {
        {"VmPeak:", offsetof(struct proc_reading, vsz_peak)},
        {"VmSize:", offsetof(struct proc_reading, vsz)},
        {"VmHWM:", offsetof(struct proc_reading, rss_peak)},
        {"VmRSS:", offsetof(struct proc_reading, rss)},
        {"RssAnon:", offsetof(struct proc_reading, rss_anon)},
        {"RssFile:", offsetof(struct proc_reading, rss_file)},
        {"RssShmem:", offsetof(struct proc_reading, rss_shmem)},
        {"VmSwap:", offsetof(struct proc_reading, swap)},
    };
    const size_t count = sizeof(sizes) / sizeof(sizes[0]);
    size_t next = 0; /* the lines come in this order, but some may be missing */

    for (size_t i = 0; i < count; i++)
        *(uint64_t *)((char *)r + sizes[i].offset) = ABSENT;
    r->waited = r->forced = ABSENT;
    for (const char *line = text, *end; line && *line; line = end ? end + 1 : NULL) {
        size_t i = next;

        end = strchr(line, '\n');
        if (*line == 'V' || *line == 'R')
            while (i < count && !line_is(line, sizes[i].key))
                i++;
        else
            i = count;
        if (i < count) {
            const char *s = line + strlen(sizes[i].key);

            *(uint64_t *)((char *)r + sizes[i].offset) = number(&s) * 1024;
            next = i + 1;
        } else {
            parse_line(line, r);
        }
    }
}

int proc_read_status(struct proc *p, struct proc_reading *r)
{
    char text[4096];

    if (read_kept(p->status, p->pid, "status", text, sizeof(text)) <= 0)
        return -1;
    proc_parse_status(text, r);
    return 0;
}

bool proc_is_still(struct proc *p)
{
    char text[sizeof(p->sizes)];
    bool still;

    if (p->statm < 0 && p->stat >= 0)
        p->statm = open_file(p->pid, "statm");
    if (p->statm < 0 || read_kept(p->statm, p->pid, "statm", text, sizeof(text)) <= 0)
        return false;
    still = !strcmp(text, p->sizes);
    memcpy(p->sizes, text, sizeof(text));
    return still;
}

static void read_io(struct proc *p, struct proc_reading *r)
{
    uint64_t *const values[] = {&r->read_chars,  &r->write_chars, &r->read_calls,
                                &r->write_calls, &r->read_bytes,  &r->write_bytes};
    char text[512];
    const char *s = text;
    bool readable;

    if (p->io < 0 && p->stat >= 0)
        p->io = open_file(p->pid, "io");
    readable = (p->io >= 0 || p->stat < 0) &&
               read_kept(p->io, p->pid, "io", text, sizeof(text)) > 0;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        s = readable ? strchr(s, ':') : NULL;
        readable = s != NULL;
        if (s)
            s++;
        *values[i] = s ? number(&s) : ABSENT;
    }
}

/* The kernel keeps switches per thread, and forgets a thread's when it ends. */
static void sum_switches(struct proc *p, struct proc_reading *r)
{
    struct proc_reading one = {0};

    if (p->thread_count < 2)
        return;
    if (p->thread_count > THREADS_DETAILED) {
        r->waited = r->forced = ABSENT;
        return;
    }
    r->waited = p->gone_waited;
    r->forced = p->gone_forced;
    for (int i = 0; i < p->thread_count; i++) {
        struct proc_thread *t = &p->threads[i];
        struct proc thread = {.pid = t->tid, .stat = -1, .status = -1, .io = -1, .statm = -1};

        if (!proc_read_status(&thread, &one) && one.waited != ABSENT) {
            t->waited = one.waited;
            t->forced = one.forced;
        }
        r->waited += t->waited;
        r->forced += t->forced;
    }
}

void proc_read_details(struct proc *p, struct proc_reading *r)
{
    clockid_t clock = (clockid_t)(~(unsigned)p->pid << 3 | 2); /* the CPU clock of a process */
    struct timespec ts;

    read_io(p, r);
    sum_switches(p, r);
    r->cpu_ns = ABSENT;
    if (!clock_gettime(clock, &ts))
        r->cpu_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
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
        r->pss = number(&s) * 1024;
    }
}

static void thread_add(struct proc *p, int tid)
{
    char name[48];
    int fd;

    snprintf(name, sizeof(name), "task/%d/children", tid);
    fd = open_file(p->pid, name);
    if (fd < 0)
        return;
    if (p->thread_count == p->thread_room) {
        p->thread_room = p->thread_room ? p->thread_room * 4 : 1;
        p->threads = memory_resize(p->threads, (size_t)p->thread_room * sizeof(*p->threads));
    }
    p->threads[p->thread_count++] = (struct proc_thread){.tid = tid, .children = fd};
}

static bool thread_known(const struct proc *p, int tid)
{
    for (int i = 0; i < p->thread_count; i++)
        if (p->threads[i].tid == tid)
            return true;
    return false;
}

/* Bring the list of threads up to date. A child is listed under the thread that made it. */
static void threads_refresh(struct proc *p)
{
    char path[64];
    struct dirent *e;
    DIR *dir;

    snprintf(path, sizeof(path), "/proc/%d/task", p->pid);
    dir = opendir(path);
    while (dir && (e = readdir(dir)) != NULL) {
        int tid = atoi(e->d_name);

        if (tid > 0 && !thread_known(p, tid))
            thread_add(p, tid);
    }
    if (dir)
        closedir(dir);
}

/* The children of one thread. -1: the thread is gone. */
static int thread_children(int fd, void (*visit)(int pid, void *context), void *context)
{
    char text[16384];
    off_t at = 0;
    ssize_t n;

    while ((n = pread(fd, text, sizeof(text) - 1, at)) > 0) {
        const char *s = text, *end;

        text[n] = '\0';
        end = strrchr(text, ' '); /* each pid is followed by one; a pid cut in two is read again */
        while (end && s < end) {
            visit((int)number(&s), context);
            s++;
        }
        if (!end)
            break;
        at += end + 1 - text;
        if (n < (ssize_t)sizeof(text) - 1)
            break;
    }
    return n < 0 ? -1 : 0;
}

bool proc_has_children_lists(void)
{
    return !access("/proc/thread-self/children", F_OK);
}

void proc_children(struct proc *p, uint64_t threads, void (*visit)(int pid, void *context),
                   void *context)
{
    if (!p->thread_count)
        thread_add(p, p->pid);
    if ((uint64_t)p->thread_count != threads && threads > 1)
        threads_refresh(p);
    for (int i = 0; i < p->thread_count; i++)
        if (thread_children(p->threads[i].children, visit, context) < 0 && p->thread_count > 1)
            thread_drop(p, i--);
}

size_t proc_command(int pid, char *out, size_t room)
{
    ssize_t n = read_kept(-1, pid, "cmdline", out, room);

    while (n > 0 && !out[n - 1])
        n--;
    return n > 0 ? (size_t)n : 0;
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
        kept = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    n = kept < 0 ? -1 : pread(kept, text, sizeof(text) - 1, 0);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    s = strrchr(text, ' ');
    return s ? number(&s) : 0;
}
