/* exec - programs that this one starts with another environment than its own are recorded, too.
 *
 * The functions that take an environment, or use one that the program may have emptied, are given
 * one with our library in it; to a program that the library would break (of another libc, with a
 * sanitizer) one without. All is made on the stack: after vfork the memory is the parent's, and we
 * may stand in a signal handler. If the new environment is too long, the one that was meant is
 * used: recording less is better than not starting.
 *
 * system() and popen() use libc's own functions with `environ`, which has our variables as long as
 * the program leaves them there: see shell.c.
 *
 * Whatever is started is counted in the memory that we share with the collector, as is whatever the
 * library comes into: what is missing then was not recorded, however short it was.
 */
#include "inject/admits.h"
#include "inject/given.h"
#include "inject/process.h"
#include "inject/real.h"
#include "inject/started.h"
#include "inject/sys.h"
#include "inject/which.h"
#include "preload/preload.h"

#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STACK_MOST 32768u /* bytes of an environment that are taken from the stack */

/* What the collector can be told of it, should the library not come into it. */
static enum ring_start prospect(struct found found)
{
    static const unsigned char of_kind[PROGRAM_KINDS] = {
        [PROGRAM_STATIC] = RING_START_STATIC,         [PROGRAM_SANITIZED] = RING_START_SANITIZED,
        [PROGRAM_OTHER_LOADER] = RING_START_LIBC,     [PROGRAM_OLD_LOADER] = RING_START_OLD_LIBC,
        [PROGRAM_OTHER_MACHINE] = RING_START_MACHINE,
    };
    long user = sys_call(SYS_geteuid, 0, 0, 0, 0, 0, 0);

    if (sys_silent || sys_narrow)
        return RING_START_CONFINED;
    if (of_kind[found.kind] && !found.loader)
        return of_kind[found.kind];
    if (found.rights)
        return RING_START_RIGHTS;
    return user && (uint64_t)user != process.control->collector_user ? RING_START_USER
                                                                     : RING_START_PLAIN;
}

/* ---- to start it ---- */

/* -1 with errno, or for the spawning ones the error's number. */
static int start(const struct call *c, char *const *environment)
{
    const struct real *r = real_now();
    pid_t own = 0, *pid = c->pid ? c->pid : &own;
    int result;

    if (c->how < SPAWN)
        started_tell(sys_pid(), c->by);

    switch (c->how) {
    case EXECVE:
        return r->execve(c->path, c->argv, environment);
    case EXECVPE:
        return r->execvpe(c->path, c->argv, environment);
    case FEXECVE:
        return r->fexecve(c->fd, c->argv, environment);
    case EXECVEAT:
        return r->execveat(c->fd, c->path, c->argv, environment, c->flags);
    case SPAWN:
        result = r->posix_spawn(pid, c->path, c->actions, c->attributes, c->argv, environment);
        break;
    default:
        result = r->posix_spawnp(pid, c->path, c->actions, c->attributes, c->argv, environment);
    }
    if (!result)
        started_tell(*pid, c->by);
    return result;
}

static bool too_long(const struct call *c, int result)
{
    return c->how >= SPAWN ? result == E2BIG : errno == E2BIG;
}

/* told: what comes of it is marked, or nothing will come. */
static void count(struct ring_control *control, enum ring_start what, bool told, uint32_t by)
{
    atomic_fetch_add(&control->started[what], by);
    if (!told)
        atomic_fetch_add(&control->unmarked, by);
}

/* An exec that comes back has failed. After vfork all this is the parent's memory, too. */
static int start_counted(const struct call *c, char *const *environment, enum ring_start what,
                         bool told)
{
    struct ring_control *control = process.control;
    int result;

    count(control, what, told, 1);
    result = start(c, environment);
    if (c->how < SPAWN || result)
        count(control, what, told, UINT32_MAX); /* back by one */
    return result;
}

static OUTLINE int start_with(const struct call *c, const struct preload *p, size_t bytes,
                              enum ring_start what)
{
    char **environment = preload_make(p, c->environment, __builtin_alloca(bytes));
    int result = start_counted(c, environment, what, true);

    return too_long(c, result) ? start_counted(c, c->environment, what, !p->marked) : result;
}

/* Who will not take the mark away does not get it: it would hand it on. */
static bool will_come(enum ring_start what)
{
    return what == RING_START_PLAIN || what == RING_START_USER;
}

static int start_recorded(const struct call *c)
{
    enum ring_start what;
    struct found found;
    struct preload p;
    size_t bytes;

    if (!given_environment(c->environment) || (c->how == EXECVEAT && !given_text(c->path)))
        return start(c, c->environment); /* the kernel refuses it */
    if (!admits_preload(&p))
        return start_counted(c, c->environment, RING_START_ATTACHED, false);
    found = which_program(c);
    what = prospect(found);
    if (p.out && what == RING_START_PLAIN)
        what = admits_why_not();
    p.out |= sys_silent || sys_narrow || program_refuses(found.kind) ||
             program_lists_sanitizer(preload_value(c->environment)) ||
             (admits_for_now(&p) && found.kind != PROGRAM_PLAIN &&
              found.kind != PROGRAM_OWN_MALLOC);
    p.marked = !p.out && will_come(what);
    bytes = preload_bytes(&p, c->environment);
    if (!bytes || bytes > STACK_MOST)
        return start_counted(c, c->environment, what, !p.marked);
    return start_with(c, &p, bytes, what);
}

/* ---- the hooks ---- */

EXPORT int execve(const char *path, char *const argv[], char *const environment[])
{
    return start_recorded(&(struct call){
        .how = EXECVE, .path = path, .argv = argv, .environment = environment, .by = CALLER()});
}

EXPORT int execv(const char *path, char *const argv[])
{
    return start_recorded(&(struct call){
        .how = EXECVE, .path = path, .argv = argv, .environment = environ, .by = CALLER()});
}

EXPORT int execvp(const char *file, char *const argv[])
{
    return start_recorded(&(struct call){
        .how = EXECVPE, .path = file, .argv = argv, .environment = environ, .by = CALLER()});
}

EXPORT int execvpe(const char *file, char *const argv[], char *const environment[])
{
    return start_recorded(&(struct call){
        .how = EXECVPE, .path = file, .argv = argv, .environment = environment, .by = CALLER()});
}

EXPORT int fexecve(int fd, char *const argv[], char *const environment[])
{
    return start_recorded(&(struct call){
        .how = FEXECVE, .fd = fd, .argv = argv, .environment = environment, .by = CALLER()});
}

EXPORT int execveat(int fd, const char *path, char *const argv[], char *const environment[],
                    int flags)
{
    return start_recorded(&(struct call){.how = EXECVEAT,
                                         .fd = fd,
                                         .flags = flags,
                                         .path = path,
                                         .argv = argv,
                                         .environment = environment,
                                         .by = CALLER()});
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[],
                       char *const environment[])
{
    return start_recorded(
        &(struct call){SPAWN, -1, 0, path, argv, environment, pid, actions, attributes, CALLER()});
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                        const posix_spawnattr_t *attributes, char *const argv[],
                        char *const environment[])
{
    return start_recorded(
        &(struct call){SPAWNP, -1, 0, file, argv, environment, pid, actions, attributes, CALLER()});
}

/* Those with a list of words: counted, then gathered on the stack, as libc does. */

static size_t count_words(va_list list)
{
    size_t count = 1;

    while (va_arg(list, char *))
        count++;
    return count;
}

static char **gather(char **argv, const char *first, size_t count, va_list list)
{
    argv[0] = (char *)first;
    for (size_t i = 1; i <= count; i++)
        argv[i] = va_arg(list, char *);
    return argv;
}

/* The words from `first` on, in the frame of the function that was given them: nothing may be
 * allocated here. What follows them is next in `list`, which is open then.
 */
#define TAKE_WORDS(argv, first, list)                                                              \
    do {                                                                                           \
        size_t count_;                                                                             \
                                                                                                   \
        va_start(list, first);                                                                     \
        count_ = count_words(list);                                                                \
        va_end(list);                                                                              \
        va_start(list, first);                                                                     \
        (argv) = gather(__builtin_alloca((count_ + 1) * sizeof(char *)), first, count_, list);     \
    } while (0)

EXPORT int execl(const char *path, const char *first, ...)
{
    struct call c = {.how = EXECVE, .path = path, .environment = environ, .by = CALLER()};
    va_list list;

    TAKE_WORDS(c.argv, first, list);
    va_end(list);
    return start_recorded(&c);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
    struct call c = {.how = EXECVPE, .path = file, .environment = environ, .by = CALLER()};
    va_list list;

    TAKE_WORDS(c.argv, first, list);
    va_end(list);
    return start_recorded(&c);
}

EXPORT int execle(const char *path, const char *first, ...)
{
    struct call c = {.how = EXECVE, .path = path, .by = CALLER()};
    va_list list;

    TAKE_WORDS(c.argv, first, list);
    c.environment = va_arg(list, char *const *);
    va_end(list);
    return start_recorded(&c);
}
