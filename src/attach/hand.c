/* hand - see hand.h.
 *
 * A descriptor is handed over by a pair of sockets that the process makes: we take one of them
 * (with the same right by which we trace it) and send ours through it. That needs no path, no
 * network and no pid that both know. A copy is made with the rights of the process itself, where it
 * may write.
 */
#include "attach/hand.h"

#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

/* Another process's descriptor as one of ours; -1: errno says why. */
static int take(int pid, int theirs)
{
    int process = (int)syscall(SYS_pidfd_open, pid, 0), fd, kept;

    if (process < 0)
        return -1;
    fd = (int)syscall(SYS_pidfd_getfd, process, theirs, 0);
    kept = errno;
    close(process);
    errno = kept;
    return fd;
}

int hand_close(struct remote *r, int fd, struct err *err)
{
    int64_t ignored;

    return remote_system_call(r, SYS_close, (const uint64_t[6]){(uint64_t)fd}, &ignored, err);
}

/* What recvmsg works on over there, in one piece. */
struct receipt {
    struct msghdr m;
    struct iovec byte;
    char control[CMSG_SPACE(sizeof(int))];
    char room[8];
};

/* Its number for what we have sent; -1: nothing came, -2: it is gone. */
static int receive(struct remote *r, int socket, struct err *err)
{
    struct receipt here = {0};
    uint64_t at = remote_bytes(r, &here, sizeof(here)); /* where, first of all */
    int64_t got = -1;
    int fd = -1;

    here.byte = (struct iovec){(void *)(at + offsetof(struct receipt, room)), 1};
    here.m = (struct msghdr){.msg_iov = (void *)(at + offsetof(struct receipt, byte)),
                             .msg_iovlen = 1,
                             .msg_control = (void *)(at + offsetof(struct receipt, control)),
                             .msg_controllen = sizeof(here.control)};
    if (!at || !remote_bytes(r, &here, sizeof(here)))
        return -1;
    if (remote_system_call(
            r, SYS_recvmsg,
            (const uint64_t[6]){(uint64_t)socket, at, MSG_CMSG_CLOEXEC | MSG_DONTWAIT}, &got,
            err) < 0)
        return -2;
    if (got == 1 && loaded_read(r->process, at, &here, sizeof(here)) &&
        here.m.msg_controllen >= CMSG_LEN(sizeof(int)))
        memcpy(&fd, CMSG_DATA((struct cmsghdr *)here.control), sizeof(fd));
    return fd;
}

static int refused(int pid, const char *why, struct err *err)
{
    return err_code(
        err, 126,
        "process %d does not see the files that tidemark sees (it may be in a container) and "
        "cannot be handed the ring: %s; run tidemark where it runs",
        pid, why);
}

static int pass(struct remote *r, const int pair[2], int fd, struct err *err)
{
    int pid = r->process->pid, ours = take(pid, pair[0]), theirs;
    bool sent;

    if (ours < 0)
        return refused(pid, errno == ENOSYS ? "that needs Linux 5.6" : strerror(errno), err);
    sent = descriptor_send(ours, fd);
    close(ours);
    theirs = sent ? receive(r, pair[1], err) : -1;
    if (theirs == -1)
        return refused(pid, "its kernel does not pass on the descriptor", err);
    return theirs < 0 ? -1 : theirs;
}

int hand_descriptor(struct remote *r, int fd, struct err *err)
{
    int pair[2] = {-1, -1}, theirs;
    uint64_t at = remote_bytes(r, pair, sizeof(pair));
    int64_t failed = -1;

    if (remote_system_call(r, SYS_socketpair,
                           (const uint64_t[6]){AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, at}, &failed,
                           err) < 0)
        return -1;
    if (failed || !loaded_read(r->process, at, pair, sizeof(pair)))
        return refused(r->process->pid, strerror((int)-failed), err);
    theirs = pass(r, pair, fd, err);
    for (int i = 0; i < 2 && !r->gone; i++) {
        struct err ignored;

        hand_close(r, pair[i], theirs < 0 ? &ignored : err);
    }
    return theirs;
}

/* ---- a copy ---- */

static bool copy_file(const char *from, int to)
{
    char bytes[65536];
    ssize_t n = -1;
    int fd = open(from, O_RDONLY | O_CLOEXEC);

    while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0)
        if (write(to, bytes, (size_t)n) != n)
            break;
    if (fd >= 0)
        close(fd);
    return n == 0;
}

static int create(struct remote *r, unsigned int way, const char *path, int64_t *theirs,
                  struct err *err)
{
    uint64_t name = remote_text(r, way ? path : "libtidemark.so");

    if (!way)
        return remote_system_call(r, SYS_memfd_create, (const uint64_t[6]){name, MFD_CLOEXEC},
                                  theirs, err);
    return remote_system_call(
        r, SYS_openat,
        (const uint64_t[6]){(uint64_t)AT_FDCWD, name,
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0700},
        theirs, err);
}

/* A copy of ours by a descriptor that it has opened for writing. */
static bool fill(int pid, int theirs, const char *file)
{
    char path[64];
    bool done;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, theirs);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        fd = take(pid, theirs);
    done = fd >= 0 && copy_file(file, fd);
    if (fd >= 0)
        close(fd);
    return done;
}

int hand_copy(struct remote *r, const char *file, unsigned int way, char path[HAND_PATH],
              struct err *err)
{
    static const char *const folders[HAND_WAYS] = {NULL, "/tmp/", "/dev/shm/", "/", "./"};
    int64_t theirs = -1;

    if (way)
        snprintf(path, HAND_PATH, "%slibtidemark-%d.so", folders[way], (int)getpid());
    if (way && r->confined.no_files)
        return -1;
    if (create(r, way, path, &theirs, err) < 0)
        return -2;
    if (theirs < 0)
        return -1;
    if (!way)
        snprintf(path, HAND_PATH, "/proc/self/fd/%d", (int)theirs);
    if (fill(r->process->pid, (int)theirs, file))
        return (int)theirs;
    return hand_take_back(r, (int)theirs, path, err) < 0 ? -2 : -1;
}

int hand_take_back(struct remote *r, int copy, const char *path, struct err *err)
{
    int64_t ignored;

    if (strncmp(path, "/proc/", 6) != 0 &&
        remote_system_call(r, SYS_unlinkat,
                           (const uint64_t[6]){(uint64_t)AT_FDCWD, remote_text(r, path), 0},
                           &ignored, err) < 0)
        return -1;
    return hand_close(r, copy, err);
}
