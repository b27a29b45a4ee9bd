/* shell - system() and popen(), which start a shell with `environ` and without a call that exec.c
 * sees. Their environment is left as the program has it, but for what the shell or what it starts
 * would complain of; and they are counted, so that the collector knows of a shell that is not
 * recorded.
 */
#include "inject/admits.h"
#include "inject/process.h"
#include "inject/real.h"
#include "inject/sys.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SHELL "/bin/sh" /* libc's */

static long read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
    return sys_call(SYS_pread64, fd, (long)to, (long)bytes, (long)offset, 0, 0);
}

static bool shell_refuses(void)
{
    long fd = sys_call(SYS_openat, AT_FDCWD, (long)SHELL, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    bool refuses;

    if (sys_failed(fd))
        return false;
    refuses = program_refuses(program_kind((int)fd, read_at)) || !admits_loader((int)fd, read_at);
    sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
    return refuses;
}

/* Returns what can be said of the shell. What is no longer used of the old environment stays:
 * another thread may be reading it.
 */
static enum ring_start mend_environment(void)
{
    enum ring_start what = RING_START_PLAIN;
    struct preload p;
    size_t bytes;
    void *room;

    if (sys_silent || !admits_preload(&p))
        return what;
    if (p.out)
        what = admits_why_not();
    p.out |= p.instead || sys_narrow || shell_refuses();
    bytes = p.out ? preload_bytes(&p, environ) : 0;
    room = bytes ? sys_memory(bytes) : NULL;
    if (room)
        environ = preload_make(&p, environ, room);
    return what;
}

/* Its environment is the program's own, which cannot be marked. */
static void count(struct ring_control *control, enum ring_start what, uint32_t by)
{
    atomic_fetch_add(&control->started[what], by);
    atomic_fetch_add(&control->unmarked, by);
}

EXPORT int system(const char *command)
{
    struct ring_control *control = process.control;
    enum ring_start what;
    int result;

    if (!command)
        return real_now()->system(command);
    what = mend_environment();
    count(control, what, 1);
    result = real_now()->system(command);
    if (result == -1)
        count(control, what, UINT32_MAX); /* back by one */
    return result;
}

EXPORT FILE *popen(const char *command, const char *how)
{
    struct ring_control *control = process.control;
    enum ring_start what = mend_environment();
    FILE *result;

    count(control, what, 1);
    result = real_now()->popen(command, how);
    if (!result)
        count(control, what, UINT32_MAX);
    return result;
}
