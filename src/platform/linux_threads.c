/* linux_threads - the threads of a process: their children, for the kernel lists a child under the
 * thread that made it, and their context switches. See linux_procfs.h and linux_kept.h.
 */
#include "base/descriptor.h"
#include "base/memory.h"
#include "platform/linux_kept.h"
#include "platform/linux_procfs.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_DETAILED 64 /* context switches cost a file per thread: above this, n/a */

void threads_drop(struct proc_kept *k, int i)
{
    struct proc_thread *t = &k->threads[i];

    if (t->children >= 0 && k->thread_count > 1)
        descriptor_close_late(t->children); /* for who waits for the process: see descriptor.h */
    else if (t->children >= 0)
        close(t->children);
    k->gone_waited += t->waited;
    k->gone_forced += t->forced;
    *t = k->threads[--k->thread_count];
}

void threads_switches(struct proc *p, struct proc_reading *r)
{
    const struct proc_kept *k = p->kept;
    struct proc_reading one = {0};

    if (!k || k->thread_count < 2)
        return;
    if (k->thread_count > THREADS_DETAILED) {
        r->waited = r->forced = ABSENT;
        return;
    }
    r->waited = k->gone_waited;
    r->forced = k->gone_forced;
    for (int i = 0; i < k->thread_count; i++) {
        struct proc_thread *t = &k->threads[i];
        struct proc thread = {.pid = t->tid};

        if (!proc_read_status(&thread, &one) && one.waited != ABSENT) {
            t->waited = one.waited;
            t->forced = one.forced;
        }
        r->waited += t->waited;
        r->forced += t->forced;
    }
}

static int open_children(const struct proc *p, int tid)
{
    char name[48];

    snprintf(name, sizeof(name), "task/%d/children", tid);
    return kept_file(p->pid, name);
}

static void thread_add(struct proc *p, int tid)
{
    struct proc_kept *k = p->kept;
    int fd = open_children(p, tid);

    if (fd < 0)
        return;
    fd = descriptor_keep(fd);
    memory_fit(k->threads, k->thread_room, k->thread_count + 1);
    k->threads[k->thread_count++] = (struct proc_thread){.tid = tid, .children = fd};
}

static bool thread_known(const struct proc_kept *k, int tid)
{
    for (int i = 0; i < k->thread_count; i++)
        if (k->threads[i].tid == tid)
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

        if (tid > 0 && !thread_known(p->kept, tid))
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
            visit((int)proc_parse_number(&s), context);
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

static int read_thread(const struct proc *p, const struct proc_thread *t,
                       void (*visit)(int pid, void *context), void *context)
{
    int fd = t->children >= 0 ? t->children : open_children(p, t->tid), result;

    if (fd < 0)
        return -1;
    result = thread_children(fd, visit, context);
    if (t->children < 0)
        close(fd);
    return result;
}

bool proc_has_children_lists(void)
{
    return !access("/proc/thread-self/children", F_OK);
}

void proc_children(struct proc *p, uint64_t threads, void (*visit)(int pid, void *context),
                   void *context)
{
    struct proc_kept *k = p->kept ? p->kept : (p->kept = kept_new());

    if (!k->thread_count)
        thread_add(p, p->pid);
    if ((uint64_t)k->thread_count != threads && threads > 1)
        threads_refresh(p);
    for (int i = 0; i < k->thread_count; i++)
        if (read_thread(p, &k->threads[i], visit, context) < 0 && k->thread_count > 1)
            threads_drop(k, i--);
}
