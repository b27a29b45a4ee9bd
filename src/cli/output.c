/* output - see output.h. */
#include "cli/output.h"

#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_failed(const char *path, struct err *err)
{
    return err_set(err, "cannot write '%s': %s", path, strerror(errno));
}

/* Write everything to `out` and close it; -1 with errno. */
static int fill(FILE *out, const struct format *format, const struct answer *a)
{
    int failed;

    errno = 0;
    format->write(a, out);
    failed = fflush(out) != 0 || ferror(out);
    if (fclose(out) != 0)
        failed = 1;
    if (failed && errno == 0)
        errno = EIO;
    return failed ? -1 : 0;
}

/* A pipe or a device cannot be replaced by a file: it is written to as it is. */
static int write_special(const struct format *format, const struct answer *a, const char *path,
                         struct err *err)
{
    FILE *out = fopen(path, "we");

    if (!out || fill(out, format, a))
        return write_failed(path, err);
    return 0;
}

/* A report is for no more people than the traces that it is made from. */
static mode_t mode_for(const struct stat *old, const char *const *traces)
{
    mode_t mask = umask(0), mode = 0666 & ~mask;
    struct stat trace;

    umask(mask);
    for (; *traces; traces++)
        mode &= stat(*traces, &trace) == 0 ? trace.st_mode | 0600 : 0600;
    return old ? old->st_mode & 07777 : mode;
}

static int write_beside(const struct format *format, const struct answer *a, const char *path,
                        const struct stat *old, const char *const *traces, struct err *err)
{
    char *temporary = arena_printf(a->arena, "%s.XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC);
    FILE *out;

    if (fd < 0)
        return write_failed(path, err);
    fchmod(fd, mode_for(old, traces));
    out = fdopen(fd, "w");
    if (!out)
        close(fd);
    if (!out || fill(out, format, a) || rename(temporary, path)) {
        write_failed(path, err);
        unlink(temporary);
        return -1;
    }
    return 0;
}

static bool is_trace(const struct stat *file, const char *const *traces)
{
    struct stat trace;

    for (; *traces; traces++)
        if (stat(*traces, &trace) == 0 && trace.st_dev == file->st_dev &&
            trace.st_ino == file->st_ino)
            return true;
    return false;
}

int output_write(const struct format *format, const struct answer *a, const char *path,
                 const char *const *traces, struct err *err)
{
    struct stat old;
    char *target;
    int result;

    if (!path || strcmp(path, "-") == 0) {
        format->write(a, stdout);
        return 0;
    }
    if (stat(path, &old) != 0)
        return write_beside(format, a, path, NULL, traces, err);
    if (is_trace(&old, traces))
        return err_code(err, EXIT_USAGE, "'%s' is the trace itself; name another output", path);
    if (S_ISDIR(old.st_mode))
        return err_set(err, "cannot write '%s': it is a directory", path);
    if (!S_ISREG(old.st_mode))
        return write_special(format, a, path, err);
    target = realpath(path, NULL); /* a link stays one: what it points to is replaced */
    if (!target)
        return write_failed(path, err);
    result = write_beside(format, a, target, &old, traces, err);
    free(target);
    return result;
}
