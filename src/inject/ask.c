/* ask - see ask.h.
 *
 * The collector listens under a name without a file, which is seen from any root and any user, and
 * gives its memory to who descends from it. Anybody can take such a name when the collector is
 * gone: so we look at who answers. But not where we only tell who we are: before its numbers of
 * users are set, a user namespace knows nobody, and there is nothing to be had by it. A process
 * that filters its system calls may be ended by one that it does not expect, and asks nothing.
 */
#include "inject/ask.h"

#include "inject/state.h"
#include "inject/sys.h"
#include "trace/ring.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#define NOBODY 65534u /* whom a user is called who has no number here */
#define GIVEN_US 1000000
#define KNOWN_US 200000 /* waited for only where thousands stand at the door and say nonsense */

/* Of "/proc/PID/fd/N". */
static int pid_in(const char *path)
{
    int pid = 0;

    for (path += strlen("/proc/"); *path >= '0' && *path <= '9' && pid < 1 << 24; path++)
        pid = pid * 10 + (*path - '0');
    return pid;
}

static bool is_collector(int fd, int pid)
{
    struct ucred who = {0};
    socklen_t bytes = sizeof(who);
    long own = sys_call(SYS_geteuid, 0, 0, 0, 0, 0, 0);

    if (sys_failed(
            sys_call(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, (long)&who, (long)&bytes, 0)))
        return false;
    return (who.pid == pid || who.pid == 0) && /* 0: it is not in our pid namespace */
           (who.uid == 0 || (who.uid == (uid_t)own && who.uid != NOBODY));
}

static bool reach(int fd, int pid, const char *door)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    char *name = a.sun_path + 1;

    memcpy(name, RING_NAME, strlen(RING_NAME));
    sys_number(name + strlen(RING_NAME), pid);
    memcpy(name + strlen(name), door, strlen(door) + 1);
    return !sys_failed(sys_call(SYS_connect, fd, (long)&a,
                                (long)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name)),
                                0, 0, 0));
}

/* -1: we must not ask. */
static int open_socket(void)
{
    long fd = -1;

    if (sys_call(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0, 0) == 0)
        fd = sys_call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, 0, 0, 0);
    return sys_failed(fd) ? -1 : (int)fd;
}

static void be_patient(int fd, long us)
{
    struct timeval most = {.tv_sec = us / 1000000, .tv_usec = us % 1000000};

    sys_call(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, (long)&most, sizeof(most), 0);
    sys_call(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, (long)&most, sizeof(most), 0);
}

static int receive(int fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    char byte;
    struct iovec to = {&byte, 1};
    struct msghdr m = {.msg_iov = &to,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof(control.bytes)};
    int got = -1;

    if (sys_call(SYS_recvmsg, fd, (long)&m, MSG_CMSG_CLOEXEC, 0, 0, 0) == 1 &&
        m.msg_controllen >= CMSG_LEN(sizeof(int)) && control.align.cmsg_type == SCM_RIGHTS)
        memcpy(&got, CMSG_DATA(&control.align), sizeof(got));
    return got;
}

int ask_collector(const char *path)
{
    int pid = pid_in(path), got = -1, fd = pid ? open_socket() : -1;

    if (fd < 0)
        return -1;
    be_patient(fd, GIVEN_US);
    if (reach(fd, pid, RING_GIVEN) && is_collector(fd, pid))
        got = receive(fd);
    sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
    return got;
}

void ask_to_know(uint32_t number)
{
    const struct ring_control *c = process.control;
    struct ring_presented us = {.secret = c->secret, .process = number};
    int fd;

    fd = c->secret ? open_socket() : -1;
    if (fd < 0)
        return;
    be_patient(fd, KNOWN_US);
    if (reach(fd, (int)(atomic_load(&c->collector) & ~RING_COLLECTOR_DIED), RING_WHO))
        sys_call(SYS_sendto, fd, (long)&us, sizeof(us), MSG_NOSIGNAL, 0, 0);
    sys_call(SYS_close, fd, 0, 0, 0, 0, 0);
}
