/* wait_cause - see wait_cause.h. What is in no list waits for something else. */
#include "collect/wait_cause.h"

#include "arch/arch.h"
#include "base/count.h"

#include <stddef.h>
#include <sys/syscall.h>

static const struct {
    long number;
    enum trace_cause cause;
} causes[] = {
    {-1, TRACE_WAIT_IO},
    {SYS_nanosleep, TRACE_WAIT_SLEEP},
    {SYS_clock_nanosleep, TRACE_WAIT_SLEEP},
    {SYS_poll, TRACE_WAIT_POLL},
    {SYS_ppoll, TRACE_WAIT_POLL},
    {SYS_select, TRACE_WAIT_POLL},
    {SYS_pselect6, TRACE_WAIT_POLL},
    {SYS_epoll_wait, TRACE_WAIT_POLL},
    {SYS_epoll_pwait, TRACE_WAIT_POLL},
#ifdef SYS_epoll_pwait2
    {SYS_epoll_pwait2, TRACE_WAIT_POLL},
#endif
    {SYS_io_uring_enter, TRACE_WAIT_POLL},
    {SYS_io_getevents, TRACE_WAIT_POLL},
    {SYS_futex, TRACE_WAIT_LOCK},
#ifdef SYS_futex_waitv
    {SYS_futex_waitv, TRACE_WAIT_LOCK},
#endif
    {SYS_semop, TRACE_WAIT_LOCK},
    {SYS_semtimedop, TRACE_WAIT_LOCK},
    {SYS_flock, TRACE_WAIT_LOCK},
    {SYS_wait4, TRACE_WAIT_CHILD},
    {SYS_waitid, TRACE_WAIT_CHILD},
    {SYS_vfork, TRACE_WAIT_CHILD},
    {SYS_clone, TRACE_WAIT_CHILD},
    {SYS_clone3, TRACE_WAIT_CHILD},
    {SYS_read, TRACE_WAIT_IO},
    {SYS_readv, TRACE_WAIT_IO},
    {SYS_pread64, TRACE_WAIT_IO},
    {SYS_preadv, TRACE_WAIT_IO},
    {SYS_preadv2, TRACE_WAIT_IO},
    {SYS_write, TRACE_WAIT_IO},
    {SYS_writev, TRACE_WAIT_IO},
    {SYS_pwrite64, TRACE_WAIT_IO},
    {SYS_pwritev, TRACE_WAIT_IO},
    {SYS_pwritev2, TRACE_WAIT_IO},
    {SYS_sendto, TRACE_WAIT_IO},
    {SYS_sendmsg, TRACE_WAIT_IO},
    {SYS_sendmmsg, TRACE_WAIT_IO},
    {SYS_recvfrom, TRACE_WAIT_IO},
    {SYS_recvmsg, TRACE_WAIT_IO},
    {SYS_recvmmsg, TRACE_WAIT_IO},
    {SYS_accept, TRACE_WAIT_IO},
    {SYS_accept4, TRACE_WAIT_IO},
    {SYS_connect, TRACE_WAIT_IO},
    {SYS_sendfile, TRACE_WAIT_IO},
    {SYS_splice, TRACE_WAIT_IO},
    {SYS_copy_file_range, TRACE_WAIT_IO},
    {SYS_fsync, TRACE_WAIT_IO},
    {SYS_fdatasync, TRACE_WAIT_IO},
    {SYS_sync_file_range, TRACE_WAIT_IO},
    {SYS_syncfs, TRACE_WAIT_IO},
    {SYS_msync, TRACE_WAIT_IO},
    {SYS_open, TRACE_WAIT_IO},
    {SYS_openat, TRACE_WAIT_IO},
    {SYS_close, TRACE_WAIT_IO},
    {SYS_stat, TRACE_WAIT_IO},
    {SYS_lstat, TRACE_WAIT_IO},
    {SYS_newfstatat, TRACE_WAIT_IO},
    {SYS_statx, TRACE_WAIT_IO},
    {SYS_getdents64, TRACE_WAIT_IO},
    {SYS_rename, TRACE_WAIT_IO},
    {SYS_unlink, TRACE_WAIT_IO},
    {SYS_unlinkat, TRACE_WAIT_IO},
};

enum trace_cause wait_cause(long number)
{
    for (int i = 0; i < COUNT(causes); i++) {
        if (causes[i].number == number)
            return causes[i].cause;
    }
    return TRACE_WAIT_OTHER;
}
