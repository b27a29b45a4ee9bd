/* candidates - see candidates.h. */
#include "attach/candidates.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

bool candidates_end_early(long number)
{
    switch (number) { /* see signal(7): these fail with EINTR whatever interrupts them */
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_epoll_pwait:
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_msgrcv:
    case SYS_msgsnd:
    case SYS_rt_sigtimedwait:
    case SYS_io_getevents:
#ifdef SYS_io_uring_enter
    case SYS_io_uring_enter:
#endif
    /* those with a time of their own on the socket */
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_read:
    case SYS_write:
        return true;
    default:
        return false;
    }
}

static bool may_end_early(long number)
{
    return candidates_end_early(number) && number != SYS_read && number != SYS_write &&
           number != SYS_recvfrom && number != SYS_recvmsg && number != SYS_sendto &&
           number != SYS_sendmsg && number != SYS_accept && number != SYS_accept4;
}

static bool read_line(int pid, int tid, const char *name, char *out, size_t room)
{
    char path[64];
    FILE *f;
    bool done;

    snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
    f = fopen(path, "re");
    if (!f)
        return false;
    done = fgets(out, (int)room, f) != NULL;
    fclose(f);
    return done;
}

int candidates_rank(int pid, int tid)
{
    char line[512];
    const char *state;

    if (!read_line(pid, tid, "stat", line, sizeof(line)) || !(state = strrchr(line, ')')) ||
        strchr("ZXxDtT", state[2]))
        return CANDIDATE_NEVER;
    if (!read_line(pid, tid, "syscall", line, sizeof(line)) || line[0] < '0' || line[0] > '9')
        return CANDIDATE_RUNS;
    return may_end_early(atol(line)) ? CANDIDATE_REPEATS : CANDIDATE_WAITS;
}

bool candidates_is_over(int pid, int tid)
{
    char line[512];
    const char *state;

    return !read_line(pid, tid, "stat", line, sizeof(line)) || !(state = strrchr(line, ')')) ||
           strchr("ZXx", state[2]);
}

uint64_t candidates_stack(int pid, int tid)
{
    uint64_t at = 0;
    char line[512];

    if (!read_line(pid, tid, "syscall", line, sizeof(line)) ||
        sscanf(line, "%*d %*x %*x %*x %*x %*x %*x %" SCNx64, &at) != 1)
        sscanf(line, "-1 %" SCNx64, &at);
    return at;
}
