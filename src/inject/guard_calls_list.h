/* guard_calls_list - functions of libc by which the kernel writes into memory, and which of their
 * arguments say where. */
#ifndef INJECT_GUARD_CALLS_LIST_H
#define INJECT_GUARD_CALLS_LIST_H

enum guard_call {
    BUFFER,   /* arguments: where, bytes */
    QUIET,    /* the same, and may write nothing */
    ITEMS,    /* where, bytes of one, how many */
    VECTOR,   /* struct iovec, how many */
    MESSAGE,  /* struct msghdr */
    MESSAGES, /* struct mmsghdr, how many */
    PLACES,   /* a bit for each argument that may lead to what is written */
    GIVEN,    /* where, bytes: written to from now on, at any time */
    GIVEN_ALL /* nobody knows what is */
};

/* Name, kind, arguments. */
#define CALLS(X)                                                                                   \
    X(read, BUFFER, 1, 2, 0)                                                                       \
    X(__read_chk, BUFFER, 1, 2, 0)                                                                 \
    X(pread, BUFFER, 1, 2, 0)                                                                      \
    X(pread64, BUFFER, 1, 2, 0)                                                                    \
    X(__pread_chk, BUFFER, 1, 2, 0)                                                                \
    X(__pread64_chk, BUFFER, 1, 2, 0)                                                              \
    X(recv, BUFFER, 1, 2, 0)                                                                       \
    X(__recv_chk, BUFFER, 1, 2, 0)                                                                 \
    X(recvfrom, BUFFER, 1, 2, 0)                                                                   \
    X(__recvfrom_chk, BUFFER, 1, 2, 0)                                                             \
    X(mq_receive, BUFFER, 1, 2, 0)                                                                 \
    X(mq_timedreceive, BUFFER, 1, 2, 0)                                                            \
    X(msgrcv, BUFFER, 1, 2, 0)                                                                     \
    X(getdents64, BUFFER, 1, 2, 0)                                                                 \
    X(readlink, BUFFER, 1, 2, 0)                                                                   \
    X(readlinkat, BUFFER, 2, 3, 0)                                                                 \
    X(getxattr, BUFFER, 2, 3, 0)                                                                   \
    X(lgetxattr, BUFFER, 2, 3, 0)                                                                  \
    X(fgetxattr, BUFFER, 2, 3, 0)                                                                  \
    X(listxattr, BUFFER, 1, 2, 0)                                                                  \
    X(getrandom, BUFFER, 0, 1, 0)                                                                  \
    X(getentropy, BUFFER, 0, 1, 0)                                                                 \
    X(getcwd, QUIET, 0, 1, 0)                                                                      \
    X(madvise, QUIET, 0, 1, 0)                                                                     \
    X(fread, ITEMS, 0, 1, 2)                                                                       \
    X(fread_unlocked, ITEMS, 0, 1, 2)                                                              \
    X(__fread_chk, ITEMS, 0, 2, 3)                                                                 \
    X(__fread_unlocked_chk, ITEMS, 0, 2, 3)                                                        \
    X(readv, VECTOR, 1, 2, 0)                                                                      \
    X(preadv, VECTOR, 1, 2, 0)                                                                     \
    X(preadv64, VECTOR, 1, 2, 0)                                                                   \
    X(preadv2, VECTOR, 1, 2, 0)                                                                    \
    X(preadv64v2, VECTOR, 1, 2, 0)                                                                 \
    X(process_vm_readv, VECTOR, 1, 2, 0)                                                           \
    X(process_vm_writev, VECTOR, 3, 4, 0)                                                          \
    X(recvmsg, MESSAGE, 1, 0, 0)                                                                   \
    X(recvmmsg, MESSAGES, 1, 2, 0)                                                                 \
    X(ioctl, PLACES, 1 << 2, 0, 0)                                                                 \
    X(fcntl, PLACES, 1 << 2, 0, 0)                                                                 \
    X(fcntl64, PLACES, 1 << 2, 0, 0)                                                               \
    X(stat, PLACES, 1 << 1, 0, 0)                                                                  \
    X(lstat, PLACES, 1 << 1, 0, 0)                                                                 \
    X(fstat, PLACES, 1 << 1, 0, 0)                                                                 \
    X(fstatat, PLACES, 1 << 2, 0, 0)                                                               \
    X(stat64, PLACES, 1 << 1, 0, 0)                                                                \
    X(lstat64, PLACES, 1 << 1, 0, 0)                                                               \
    X(fstat64, PLACES, 1 << 1, 0, 0)                                                               \
    X(fstatat64, PLACES, 1 << 2, 0, 0)                                                             \
    X(__xstat, PLACES, 1 << 2, 0, 0)                                                               \
    X(__lxstat, PLACES, 1 << 2, 0, 0)                                                              \
    X(__fxstat, PLACES, 1 << 2, 0, 0)                                                              \
    X(__fxstatat, PLACES, 1 << 3, 0, 0)                                                            \
    X(__xstat64, PLACES, 1 << 2, 0, 0)                                                             \
    X(__lxstat64, PLACES, 1 << 2, 0, 0)                                                            \
    X(__fxstat64, PLACES, 1 << 2, 0, 0)                                                            \
    X(__fxstatat64, PLACES, 1 << 3, 0, 0)                                                          \
    X(statx, PLACES, 1 << 4, 0, 0)                                                                 \
    X(statfs, PLACES, 1 << 1, 0, 0)                                                                \
    X(fstatfs, PLACES, 1 << 1, 0, 0)                                                               \
    X(statfs64, PLACES, 1 << 1, 0, 0)                                                              \
    X(fstatfs64, PLACES, 1 << 1, 0, 0)                                                             \
    X(getsockopt, PLACES, 3 << 3, 0, 0)                                                            \
    X(getsockname, PLACES, 3 << 1, 0, 0)                                                           \
    X(getpeername, PLACES, 3 << 1, 0, 0)                                                           \
    X(accept, PLACES, 3 << 1, 0, 0)                                                                \
    X(accept4, PLACES, 3 << 1, 0, 0)                                                               \
    X(epoll_wait, PLACES, 1 << 1, 0, 0)                                                            \
    X(epoll_pwait, PLACES, 1 << 1, 0, 0)                                                           \
    X(poll, PLACES, 1, 0, 0)                                                                       \
    X(__poll_chk, PLACES, 1, 0, 0)                                                                 \
    X(ppoll, PLACES, 1, 0, 0)                                                                      \
    X(__ppoll_chk, PLACES, 1, 0, 0)                                                                \
    X(select, PLACES, 15 << 1, 0, 0)                                                               \
    X(pselect, PLACES, 7 << 1, 0, 0)                                                               \
    X(wait, PLACES, 1, 0, 0)                                                                       \
    X(waitpid, PLACES, 1 << 1, 0, 0)                                                               \
    X(wait3, PLACES, 5, 0, 0)                                                                      \
    X(wait4, PLACES, 5 << 1, 0, 0)                                                                 \
    X(waitid, PLACES, 1 << 2, 0, 0)                                                                \
    X(pipe, PLACES, 1, 0, 0)                                                                       \
    X(pipe2, PLACES, 1, 0, 0)                                                                      \
    X(socketpair, PLACES, 1 << 3, 0, 0)                                                            \
    X(uname, PLACES, 1, 0, 0)                                                                      \
    X(sysinfo, PLACES, 1, 0, 0)                                                                    \
    X(getrusage, PLACES, 1 << 1, 0, 0)                                                             \
    X(getrlimit, PLACES, 1 << 1, 0, 0)                                                             \
    X(getrlimit64, PLACES, 1 << 1, 0, 0)                                                           \
    X(prlimit, PLACES, 1 << 3, 0, 0)                                                               \
    X(prlimit64, PLACES, 1 << 3, 0, 0)                                                             \
    X(times, PLACES, 1, 0, 0)                                                                      \
    X(clock_gettime, PLACES, 1 << 1, 0, 0)                                                         \
    X(clock_getres, PLACES, 1 << 1, 0, 0)                                                          \
    X(gettimeofday, PLACES, 3, 0, 0)                                                               \
    X(nanosleep, PLACES, 1 << 1, 0, 0)                                                             \
    X(clock_nanosleep, PLACES, 1 << 3, 0, 0)                                                       \
    X(timer_create, PLACES, 1 << 2, 0, 0)                                                          \
    X(timer_gettime, PLACES, 1 << 1, 0, 0)                                                         \
    X(timer_settime, PLACES, 1 << 3, 0, 0)                                                         \
    X(timerfd_gettime, PLACES, 1 << 1, 0, 0)                                                       \
    X(timerfd_settime, PLACES, 1 << 3, 0, 0)                                                       \
    X(getitimer, PLACES, 1 << 1, 0, 0)                                                             \
    X(setitimer, PLACES, 1 << 2, 0, 0)                                                             \
    X(sigpending, PLACES, 1, 0, 0)                                                                 \
    X(sigwaitinfo, PLACES, 1 << 1, 0, 0)                                                           \
    X(sigtimedwait, PLACES, 1 << 1, 0, 0)                                                          \
    X(sigaltstack, PLACES, 1 << 1, 0, 0)                                                           \
    X(pthread_sigmask, PLACES, 1 << 2, 0, 0)                                                       \
    X(sigprocmask, PLACES, 1 << 2, 0, 0)                                                           \
    X(getgroups, PLACES, 1 << 1, 0, 0)                                                             \
    X(sched_getaffinity, PLACES, 1 << 2, 0, 0)                                                     \
    X(mincore, PLACES, 1 << 2, 0, 0)                                                               \
    X(sendfile, PLACES, 1 << 2, 0, 0)                                                              \
    X(sendfile64, PLACES, 1 << 2, 0, 0)                                                            \
    X(splice, PLACES, 5 << 1, 0, 0)                                                                \
    X(copy_file_range, PLACES, 5 << 1, 0, 0)                                                       \
    X(semctl, PLACES, 1 << 3, 0, 0)                                                                \
    X(shmctl, PLACES, 1 << 2, 0, 0)                                                                \
    X(msgctl, PLACES, 1 << 2, 0, 0)                                                                \
    X(prctl, PLACES, 15 << 1, 0, 0)                                                                \
    X(setvbuf, GIVEN, 1, 3, 0)                                                                     \
    X(setbuffer, GIVEN, 1, 2, 0)                                                                   \
    X(setbuf, GIVEN, 1, 1, 0)                                                                      \
    X(aio_read, GIVEN_ALL, 0, 0, 0)                                                                \
    X(aio_read64, GIVEN_ALL, 0, 0, 0)                                                              \
    X(lio_listio, GIVEN_ALL, 0, 0, 0)                                                              \
    X(lio_listio64, GIVEN_ALL, 0, 0, 0)                                                            \
    X(io_submit, GIVEN_ALL, 0, 0, 0)                                                               \
    X(io_uring_setup, GIVEN_ALL, 0, 0, 0)                                                          \
    X(io_uring_queue_init, GIVEN_ALL, 0, 0, 0)                                                     \
    X(io_uring_queue_init_params, GIVEN_ALL, 0, 0, 0)

#endif
