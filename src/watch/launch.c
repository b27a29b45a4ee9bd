#include "watch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

uint64_t launch_shrink(void)
{
    const ElfW(Phdr) *h = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    unsigned long count = getauxval(AT_PHNUM), pages = 0,
                  page = (unsigned long)sysconf(_SC_PAGESIZE);
    char text[64] = "";
    int fd;

    /* Code and constants come back from the page cache when they are next touched. */
    for (unsigned long i = 0; getauxval(AT_BASE) == 0 && i < count; i++)
        if (h[i].p_type == PT_LOAD && !(h[i].p_flags & PF_W)) {
            uintptr_t from = h[i].p_vaddr & ~(page - 1);

            madvise((void *)from, h[i].p_vaddr + h[i].p_memsz - from, MADV_DONTNEED);
        }
    fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!write(fd, "5", 1); /* the mark starts again from what we hold now */
        close(fd);
    }
    fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!read(fd, text, sizeof(text) - 1);
        close(fd);
    }
    sscanf(text, "%*u %lu", &pages);
    return pages * page;
}

static int exec_failed(struct err *err, const char *name, int error)
{
    return err_code(err, error == ENOENT ? 127 : 126, "cannot run '%s': %s", name, strerror(error));
}

/* In the child, whose memory may be ours (vfork): touch nothing but the stack. */
static int become(const struct launch *l, int quiet)
{
    if (quiet >= 0 && (dup2(quiet, STDOUT_FILENO) < 0 || dup2(quiet, STDERR_FILENO) < 0))
        return errno;
    if (l->ignores_children)
        signal(SIGCHLD, SIG_IGN);
    sigprocmask(SIG_SETMASK, l->mask, NULL);
    execvpe(l->argv[0], l->argv, l->environment ? l->environment : environ);
    return errno;
}

static int cannot_start(struct err *err)
{
    return err_code(err, 125, "cannot start a process: %s", strerror(errno));
}

/* The child waits for the end of file on one pipe; its error, if any, comes back through another. */
static pid_t launch_gated(struct launch *l, int quiet, struct err *err)
{
    int hold[2], report[2];
    pid_t pid;

    if (pipe2(hold, O_CLOEXEC) < 0 || pipe2(report, O_CLOEXEC) < 0)
        return cannot_start(err);
    pid = fork();
    if (!pid) {
        int error;
        char c;

        close(hold[1]);
        while (read(hold[0], &c, 1) < 0 && errno == EINTR)
            ;
        error = become(l, quiet);
        (void)!write(report[1], &error, sizeof(error));
        _exit(127);
    }
    close(hold[0]);
    close(report[1]);
    l->gate = hold[1];
    l->failure = report[0];
    return pid < 0 ? cannot_start(err) : pid;
}

int launch_release(struct launch *l, struct err *err)
{
    int error = 0;
    ssize_t n;

    close(l->gate);
    n = read(l->failure, &error, sizeof(error)); /* closed by a successful exec */
    close(l->failure);
    l->gate = l->failure = -1;
    return n == sizeof(error) ? exec_failed(err, l->argv[0], error) : 0;
}

pid_t launch(struct launch *l, struct err *err)
{
    int quiet = l->mute ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    volatile int error = 0;
    pid_t pid;

    l->gate = l->failure = -1;
    if (l->mute && quiet < 0)
        return err_code(err, 125, "cannot open /dev/null: %s", strerror(errno));
    if (l->gated) {
        pid = launch_gated(l, quiet, err);
    } else {
        pid = vfork(); /* returns here once the child has become the command, or has failed to */
        if (!pid) {
            error = become(l, quiet);
            _exit(127);
        }
        if (pid < 0)
            cannot_start(err);
    }
    if (quiet >= 0)
        close(quiet);
    return pid > 0 && error ? exec_failed(err, l->argv[0], error) : pid;
}
