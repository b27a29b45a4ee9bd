/* standin - see standin.h.
 *
 * Our exports make it look as if a program had all of them, so each says what its kind says of
 * something that a system does not have.
 */
#include "inject/standin.h"

#include "inject/elf.h"

#include <errno.h>
#include <string.h>

static const struct real *now;
static bool (*found_since)(const char *name);

static int without(void)
{
    errno = ENOSYS;
    return -1;
}

/* Look again, and else give `otherwise`. */
#define LATE(type, name, otherwise, parameters, arguments)                                         \
    static type late_##name parameters                                                             \
    {                                                                                              \
        return found_since(#name) ? now->name arguments : (otherwise);                             \
    }

LATE(void *, dlopen, NULL, (const char *file, int flags), (file, flags))
LATE(void *, dlmopen, NULL, (Lmid_t space, const char *file, int flags), (space, file, flags))
LATE(void *, dlsym, (void *)elf_next(name), (void *handle, const char *name), (handle, name))
LATE(int, dlclose, -1, (void *handle), (handle))
LATE(int, execveat, without(),
     (int folder, const char *path, char *const words[], char *const environment[], int flags),
     (folder, path, words, environment, flags))
LATE(int, pthread_create, EAGAIN,
     (pthread_t * id, const pthread_attr_t *attributes, void *(*run)(void *), void *argument),
     (id, attributes, run, argument))
LATE(int, pthread_key_create, ENOSYS, (pthread_key_t * key, void (*end)(void *)), (key, end))
LATE(int, pthread_setspecific, ENOSYS, (pthread_key_t key, const void *value), (key, value))
LATE(int, pthread_getattr_np, ENOSYS, (pthread_t thread, pthread_attr_t *attributes),
     (thread, attributes))
LATE(int, pthread_attr_getstack, ENOSYS, (const pthread_attr_t *a, void **at, size_t *bytes),
     (a, at, bytes))
LATE(int, pthread_attr_getstacksize, ENOSYS, (const pthread_attr_t *a, size_t *bytes), (a, bytes))
LATE(int, sem_timedwait, without(), (sem_t * semaphore, const struct timespec *until),
     (semaphore, until))
LATE(int, sem_clockwait, without(),
     (sem_t * semaphore, clockid_t clock, const struct timespec *until), (semaphore, clock, until))
LATE(int, thrd_sleep, -2, (const struct timespec *time, struct timespec *left), (time, left))

/* Without libpthread there is one thread, and its mask is the process's. */
static int late_pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
    if (found_since("pthread_sigmask"))
        return now->pthread_sigmask(how, set, before);
    return now->sigprocmask(how, set, before) ? errno : 0;
}

#define FILL(name)                                                                                 \
    if (!r->name)                                                                                  \
    r->name = late_##name

void standin_fill(struct real *r, const struct real *later, bool (*again)(const char *name))
{
    now = later;
    found_since = again;
    FILL(dlopen);
    FILL(dlmopen);
    FILL(dlsym);
    FILL(dlclose);
    FILL(execveat);
    FILL(pthread_create);
    FILL(pthread_key_create);
    FILL(pthread_setspecific);
    FILL(pthread_getattr_np);
    FILL(pthread_attr_getstack);
    FILL(pthread_attr_getstacksize);
    FILL(pthread_sigmask);
    FILL(sem_timedwait);
    FILL(sem_clockwait);
    FILL(thrd_sleep);
}
