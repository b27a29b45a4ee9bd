/* real_type - the functions behind our hooks, by type: what real.c finds and outside.c guards. */
#ifndef INJECT_REAL_TYPE_H
#define INJECT_REAL_TYPE_H

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
    int (*mprotect)(void *, size_t, int);
    void *(*shmat)(int, const void *, int);
    int (*shmdt)(const void *);
    int (*brk)(void *);
    void *(*sbrk)(intptr_t);
    void *(*dlopen)(const char *, int);
    void *(*dlmopen)(Lmid_t, const char *, int);
    void *(*dlsym)(void *, const char *);
    int (*dlclose)(void *);
    int (*pthread_getattr_np)(pthread_t, pthread_attr_t *);
    int (*prctl)(int, ...);
    int (*setenv)(const char *, const char *, int);
    int (*putenv)(char *);
    long (*syscall)(long, ...);
    int (*execve)(const char *, char *const[], char *const[]);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    int (*execveat)(int, const char *, char *const[], char *const[], int);
    int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                       const posix_spawnattr_t *, char *const[], char *const[]);
    int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                        const posix_spawnattr_t *, char *const[], char *const[]);
    int (*system)(const char *);
    FILE *(*popen)(const char *, const char *);
    void *(*memmove)(void *, const void *, size_t);
    create_function *pthread_create;
    int (*pthread_key_create)(pthread_key_t *, void (*)(void *));
    int (*pthread_setspecific)(pthread_key_t, const void *);
    int (*pthread_attr_getstack)(const pthread_attr_t *, void **, size_t *);
    int (*pthread_attr_getstacksize)(const pthread_attr_t *, size_t *);
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

#endif
