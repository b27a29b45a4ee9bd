/* giver - see giver.h. */
#include "collect/giver.h"

#include "base/descriptor.h"
#include "trace/ring.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int giver_listen(const char *door)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, RING_NAME "%d%s", getpid(), door);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && (bind(fd, (struct sockaddr *)&a, size) < 0 || listen(fd, SOMAXCONN) < 0)) {
        close(fd);
        return -1;
    }
    return descriptor_keep(fd);
}

int giver_accept(int listener, int *fd)
{
    struct ucred who = {0};
    socklen_t size = sizeof(who);

    *fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (*fd < 0)
        return 0;
    if (getsockopt(*fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && who.pid > 0)
        return who.pid;
    close(*fd);
    return 0;
}
