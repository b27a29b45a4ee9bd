/* storefile - see storefile.h. */
#include "trace/storefile.h"

#include "base/count.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MODE 0600 /* command lines, paths and source: for its user alone */
/* Without blocking: a pipe that nobody reads must not be waited for. */
#define FLAGS (O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW)

enum storefile_failure storefile_kind(int error)
{
    static const int wrong[] = {ENOENT, EACCES, EPERM,        EROFS,  ENOTDIR, EISDIR,
                                ELOOP,  ENXIO,  ENAMETOOLONG, ENODEV, EINVAL,  EEXIST};

    for (int i = 0; i < COUNT(wrong); i++)
        if (error == wrong[i])
            return STOREFILE_WRONG;
    return STOREFILE_STATE;
}

static int cannot_write(const char *path, int error, struct err *err)
{
    if (error == EEXIST)
        return err_code(err, STOREFILE_TAKEN, "cannot write '%s': it is there already", path);
    if (error == ENXIO)
        return err_code(err, STOREFILE_WRONG,
                        "cannot write '%s': nobody reads this pipe; start its reader first", path);
    return err_code(err, storefile_kind(error), "cannot write '%s': %s", path, strerror(error));
}

/* A link that we or root have put there is meant; one of somebody else may lead to any file of
 * ours.
 */
static bool is_strange_link(const char *path)
{
    struct stat link;

    return lstat(path, &link) == 0 && S_ISLNK(link.st_mode) && link.st_uid != 0 &&
           link.st_uid != geteuid();
}

static int open_there(const char *path, struct err *err)
{
    int fd = open(path, FLAGS);

    if (fd < 0 && errno == ELOOP) {
        if (is_strange_link(path))
            return err_code(err, STOREFILE_WRONG,
                            "cannot write '%s': it is a link of another user; name another file",
                            path);
        fd = open(path, (FLAGS & ~O_NOFOLLOW) | O_CREAT, MODE);
    }
    return fd < 0 ? cannot_write(path, errno, err) : fd;
}

/* The file that is there, for us alone. Where there are no locks, nobody knows who else writes it.
 */
static int claim(const struct storefile *f, const struct stat *file, const char *path,
                 struct err *err)
{
    if (flock(f->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return err_code(err, STOREFILE_TAKEN, "cannot write '%s': another recording is writing it",
                        path);
    if (file->st_uid != geteuid())
        return err_code(err, STOREFILE_WRONG,
                        "cannot write '%s': the file belongs to another user; name another file",
                        path);
    if (!f->created)
        fchmod(f->fd, MODE); /* what it held may have been for everybody */
    return 0;
}

int storefile_open(struct storefile *f, const char *path, bool anew, struct err *err)
{
    struct stat file;

    *f = (struct storefile){.fd = open(path, FLAGS | O_CREAT | O_EXCL, MODE)};
    f->created = f->fd >= 0;
    if (f->fd < 0 && (errno != EEXIST || anew))
        return cannot_write(path, errno, err);
    if (f->fd < 0)
        f->fd = open_there(path, err);
    if (f->fd < 0)
        return -1;
    fcntl(f->fd, F_SETFL, 0); /* a slow reader of a pipe is waited for */
    f->regular = fstat(f->fd, &file) == 0 && S_ISREG(file.st_mode);
    if (f->regular && claim(f, &file, path, err) < 0) {
        close(f->fd);
        return -1;
    }
    return 0;
}

int storefile_cut(const struct storefile *f, unsigned long long size)
{
    return f->regular && !f->created ? ftruncate(f->fd, (off_t)size) : 0;
}

void storefile_discard(const struct storefile *f, const char *path)
{
    if (f->created)
        unlink(path);
}

void storefile_look(struct storefile *f, unsigned long long size)
{
    struct stat file;

    if (f->regular && fstat(f->fd, &file) == 0 && (unsigned long long)file.st_size < size)
        f->shortened = true;
}

int storefile_check(const struct storefile *f, const char *path, struct err *err)
{
    struct stat ours, there;

    if (!f->regular || fstat(f->fd, &ours) < 0)
        return 0;
    if (stat(path, &there) < 0)
        return err_set(err, "'%s' was removed while it was recorded: there is no trace", path);
    if (there.st_dev != ours.st_dev || there.st_ino != ours.st_ino)
        return err_set(err,
                       "'%s' was replaced by another file while it was recorded: there is no trace",
                       path);
    if (f->shortened)
        return err_set(err, "'%s' was made shorter while it was recorded: the trace is not whole",
                       path);
    return 0;
}

static int write_all(int fd, const unsigned char *data, size_t size)
{
    while (size) {
        ssize_t n = write(fd, data, size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : EIO;
        data += n;
        size -= (size_t)n;
    }
    return 0;
}

/* A write to a closed pipe or above the file size limit raises a signal that would end the tool.
 * It is held back here, not ignored for the whole process: the command inherits what we ignore.
 */
int storefile_write(const struct storefile *f, const unsigned char *data, size_t size)
{
    const struct timespec at_once = {0};
    sigset_t deadly, before, pending;
    bool was_pending;
    int error;

    sigemptyset(&deadly);
    sigaddset(&deadly, SIGPIPE);
    sigaddset(&deadly, SIGXFSZ);
    sigpending(&pending);
    was_pending = sigismember(&pending, SIGPIPE) || sigismember(&pending, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &deadly, &before);
    error = write_all(f->fd, data, size);
    if ((error == EPIPE || error == EFBIG) && !was_pending)
        sigtimedwait(&deadly, NULL, &at_once);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
