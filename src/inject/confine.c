/* confine - a process that gives up the right to ask the kernel (seccomp).
 *
 * From then on a system call of ours could be its end, so we make none: sys_call fails. Threads
 * that have a ring go on as before, which takes none; their stacks end where another stack begins,
 * other threads and children are lost (and counted), programs that are started get no library of
 * ours, and no more CPU time is sampled. To ask with no filter at all is only a question, which we
 * let pass.
 *
 * syscall() is as it is in libc: no frame of ours on the stack, since its caller may come back from
 * the kernel on another one (clone).
 */
#include "inject/confine.h"
#include "inject/cpu.h"
#include "inject/guard.h"
#include "inject/real.h"
#include "inject/record.h"
#include "inject/state.h"
#include "inject/sys.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <unistd.h>

/* After vfork it is the child that is confined, but the memory is the parent's. */
static bool is_lent(void)
{
    return home.session && local.thread && local.thread->slot->pid != (uint32_t)sys_pid();
}

/* Whether we were not silent before. The signals of our timers end as well: a handler returns by a
 * system call.
 */
static bool fall_silent(void)
{
    int kept = errno;

    if (sys_silent || is_lent())
        return false;
    cpu_leave();
    if (guard_any()) /* a page could not be opened any more */
        guard_release(0, UINTPTR_MAX, RING_WHY_KERNEL);
    sys_silent = true;
    errno = kept;
    return true;
}

/* It came to nothing. */
static void speak_again(void)
{
    int kept = errno;
    struct thread *t;

    sys_silent = false;
    t = process_mode() == RING_OFF ? NULL : record_enter((uintptr_t)__builtin_frame_address(0));
    if (t) {
        cpu_begin(t);
        record_leave();
    }
    errno = kept;
}

/* Arguments that were not given are handed on as well: they are registers that nobody reads. */
EXPORT int prctl(int option, ...)
{
    unsigned long word[4];
    bool silent;
    va_list list;
    int result;

    va_start(list, option);
    for (int i = 0; i < 4; i++)
        word[i] = va_arg(list, unsigned long);
    va_end(list);
    silent = option == PR_SET_SECCOMP &&
             (word[0] == SECCOMP_MODE_STRICT || (word[0] == SECCOMP_MODE_FILTER && word[1])) &&
             fall_silent();
    result = real_now()->prctl(option, word[0], word[1], word[2], word[3]);
    if (silent && result)
        speak_again();
    return result;
}

/* Where syscall() below goes with the numbers of seccomp, execve and execveat, and where with every
 * other.
 */
long confine_seccomp(long number, long operation, long flags, void *filter)
    __attribute__((visibility("hidden")));
long confine_exec(long number, const char *path, char *const *argv, char *const *environment)
    __attribute__((visibility("hidden")));
long confine_exec_at(long number, int fd, const char *path, char *const *argv,
                     char *const *environment, int flags) __attribute__((visibility("hidden")));
long confine_early(long number, long a, long b, long c, long d, long e, long f);

long confine_seccomp(long number, long operation, long flags, void *filter)
{
    bool silent = (operation == SECCOMP_SET_MODE_STRICT ||
                   (operation == SECCOMP_SET_MODE_FILTER && filter)) &&
                  fall_silent();
    long result = real_now()->syscall(number, operation, flags, filter);

    if (silent && result)
        speak_again();
    return result;
}

/* A program is started as by libc's own functions, which are ours: it is counted, and recorded. */
long confine_exec(long number, const char *path, char *const *argv, char *const *environment)
{
    (void)number;
    return execve(path, argv, environment);
}

long confine_exec_at(long number, int fd, const char *path, char *const *argv,
                     char *const *environment, int flags)
{
    (void)number;
    return execveat(fd, path, argv, environment, flags);
}

/* Before our start. */
long confine_early(long number, long a, long b, long c, long d, long e, long f)
{
    return real_now()->syscall(number, a, b, c, d, e, f);
}

system_call_function *confine_next = confine_early;

__attribute__((constructor)) static void start(void)
{
    confine_next = (system_call_function *)real_now()->syscall;
}

ARCH_DIVERT_SYSCALL(confine_seccomp, confine_exec, confine_exec_at, confine_next);
