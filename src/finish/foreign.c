/* foreign - see foreign.h. */
#include "finish/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* a disk of the network may be slow; one that is away is not waited for */
#define ANSWER_MS 10000

union passing { /* room for one descriptor beside a message */
    struct cmsghdr head;
    char room[CMSG_SPACE(sizeof(int))];
};

/* What the name leads to may be a pipe or a device: opening must neither wait nor do anything. */
static int open_regular(const char *path)
{
    struct stat file;
    int fd = -1;

    if (stat(path, &file) == 0 && S_ISREG(file.st_mode))
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &file) < 0 || !S_ISREG(file.st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* ---- the child ---- */

static void hand_over(int socket, int fd)
{
    union passing passing = {.room = {0}};
    char found = fd >= 0;
    struct iovec text = {&found, 1};
    struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1};

    if (fd >= 0) {
        message.msg_control = passing.room;
        message.msg_controllen = sizeof(passing.room);
        passing.head = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&passing.head), &fd, sizeof(fd));
    }
    sendmsg(socket, &message, MSG_NOSIGNAL);
    if (fd >= 0)
        close(fd);
}

static void serve(int socket, const struct rights *r)
{
    char path[PATH_MAX];
    ssize_t n;

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (rights_take(r) < 0)
        return;
    while ((n = recv(socket, path, sizeof(path) - 1, 0)) > 0) {
        path[n] = '\0';
        hand_over(socket, open_regular(path));
    }
}

/* ---- the tool ---- */

void foreign_begin(struct foreign *f, const struct rights *r)
{
    int pair[2];

    *f = (struct foreign){.socket = -1, .directly = !rights_are_less(r)};
    if (f->directly || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return;
    f->pid = fork();
    if (f->pid == 0) {
        close(pair[0]);
        serve(pair[1], r);
        _exit(0);
    }
    close(pair[1]);
    f->socket = pair[0];
    if (f->pid < 0)
        foreign_end(f);
}

static int take_over(int socket)
{
    union passing passing;
    char found = 0;
    struct iovec text = {&found, 1};
    struct msghdr message = {.msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = passing.room,
                             .msg_controllen = sizeof(passing.room)};
    const struct cmsghdr *head;
    int fd = -1;

    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) <= 0)
        return -1;
    head = CMSG_FIRSTHDR(&message);
    if (found && head && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(fd)))
        memcpy(&fd, CMSG_DATA(head), sizeof(fd));
    return fd;
}

int foreign_open(struct foreign *f, const char *path)
{
    struct pollfd answer = {.fd = f->socket, .events = POLLIN};

    if (f->directly)
        return open_regular(path);
    if (f->socket < 0 || !path[0] || strlen(path) >= PATH_MAX)
        return -1;
    if (send(f->socket, path, strlen(path), MSG_NOSIGNAL) > 0 && poll(&answer, 1, ANSWER_MS) > 0)
        return take_over(f->socket);
    foreign_end(f);
    return -1;
}

void foreign_end(struct foreign *f)
{
    if (f->socket >= 0)
        close(f->socket);
    f->socket = -1;
    if (f->pid <= 0)
        return;
    kill(f->pid, SIGKILL);
    while (waitpid(f->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    f->pid = 0;
}
