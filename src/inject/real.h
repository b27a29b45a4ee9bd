/* real - the functions behind our hooks: the next ones of the same name after this library.
 *
 * Found at the first call of any of them, whichever comes first, so that a block is never freed by
 * another allocator than the one that made it.
 */
#ifndef INJECT_REAL_H
#define INJECT_REAL_H

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/select.h>
#include <sys/types.h>
#include <time.h>

typedef int create_function(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int mask_function(int, const sigset_t *, sigset_t *);
typedef int timedwait_function(const sigset_t *, siginfo_t *, const struct timespec *);

struct real {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void *(*mmap)(void *, size_t, int, int, int, off_t);
    int (*munmap)(void *, size_t);
    void *(*mremap)(void *, size_t, size_t, int, ...);
    int (*brk)(void *);
    void *(*sbrk)(intptr_t);
    void *(*dlopen)(const char *, int);
    void *(*dlmopen)(Lmid_t, const char *, int);
    void *(*dlsym)(void *, const char *);
    int (*dlclose)(void *);
    int (*pthread_getattr_np)(pthread_t, pthread_attr_t *);
    int (*prctl)(int, ...);
    long (*syscall)(long, ...);
    int (*execve)(const char *, char *const[], char *const[]);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    int (*execveat)(int, const char *, char *const[], char *const[], int);
    int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                       const posix_spawnattr_t *, char *const[], char *const[]);
    int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                        const posix_spawnattr_t *, char *const[], char *const[]);
    void *(*memmove)(void *, const void *, size_t);
    create_function *pthread_create;
    mask_function *pthread_sigmask, *sigprocmask;
    int (*sigaction)(int, const struct sigaction *, struct sigaction *);
    sighandler_t (*signal)(int, sighandler_t), (*sysv_signal)(int, sighandler_t);
    int (*sigwait)(const sigset_t *, int *);
    int (*sigwaitinfo)(const sigset_t *, siginfo_t *);
    timedwait_function *sigtimedwait;
    int (*signalfd)(int, const sigset_t *, int);
    int (*poll)(struct pollfd *, nfds_t, int);
    int (*poll_chk)(struct pollfd *, nfds_t, int, size_t);
    int (*ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
    int (*ppoll_chk)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);
    int (*select)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
    int (*pselect)(int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *);
    int (*nanosleep)(const struct timespec *, struct timespec *);
    int (*clock_nanosleep)(clockid_t, int, const struct timespec *, struct timespec *);
    int (*thrd_sleep)(const struct timespec *, struct timespec *);
    unsigned int (*sleep)(unsigned int);
    int (*usleep)(useconds_t);
    int (*sem_timedwait)(sem_t *, const struct timespec *);
    int (*sem_clockwait)(sem_t *, clockid_t, const struct timespec *);
    int (*pause)(void);
    int (*sigsuspend)(const sigset_t *);
    ssize_t (*msgrcv)(int, void *, size_t, long, int);
    int (*msgsnd)(int, const void *, size_t, int);
};

extern struct real real __attribute__((visibility("hidden")));

void real_find(void);
uintptr_t *real_field(const char *name); /* NULL: none of that name */

/* For the functions that are called rarely: found before their first call. */
static inline const struct real *real_now(void)
{
    if (!real.mmap)
        real_find();
    return &real;
}

#endif
