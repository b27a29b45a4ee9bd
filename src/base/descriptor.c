/* descriptor - see descriptor.h. The kernel gives the lowest number that is free, so the number
 * says how many are in use.
 */
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define NEEDED 24u /* for what is opened for a moment, and for what cannot be done without */
#define LATE 64u   /* that wait to be closed */

int descriptor_keep(int fd)
{
    static rlim_t least; /* of the limit, as far as it was asked */
    struct rlimit limit;
    int kept = errno;

    if (fd < 0 || (rlim_t)fd + NEEDED < least || getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return fd;
    least = limit.rlim_cur;
    if ((rlim_t)fd + NEEDED < least)
        return fd;
    close(fd);
    errno = kept;
    return -1;
}

void descriptor_close_late(int fd)
{
    static int late[LATE]; /* 0: none, as that is one of the standard ones */
    static unsigned int next;
    int *place = &late[next++ % LATE];

    if (*place)
        close(*place);
    *place = fd;
}

void descriptor_fill_standard(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/", O_PATH | O_CLOEXEC) != fd)
            return;
}

bool descriptor_send(int socket, int fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = {{0}};
    struct iovec byte = {"", 1};
    struct msghdr m = {.msg_iov = &byte,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);

    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof(fd));
    return sendmsg(socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}
