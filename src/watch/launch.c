/* launch - see launch.h. Where it must be watched from its first moment on, the child waits at a
 * gate until it is let go.
 */
#include "watch/launch.h"

#include "platform/platform.h"
#include "watch/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int exec_failed(struct err *err, const char *name, int error)
{
    return err_code(err, error == ENOENT ? 127 : 126, "cannot run '%s': %s", name, strerror(error));
}

/* In the child, whose memory may be ours (vfork): touch nothing but the stack and the floor. */
static int become(struct launch *l, int quiet)
{
    if (quiet >= 0 && (dup2(quiet, STDOUT_FILENO) < 0 || dup2(quiet, STDERR_FILENO) < 0))
        return errno;
    if (l->ignores_children)
        signal(SIGCHLD, SIG_IGN);
    sigprocmask(SIG_SETMASK, l->mask, NULL);
    limits_restore();
    l->floor = self_shrink();
    execvpe(l->argv[0], l->argv, l->environment ? l->environment : environ);
    return errno;
}

static int cannot_start(struct err *err)
{
    return err_code(err, 125, "cannot start a process: %s", strerror(errno));
}

/* The child waits for the end of file on one pipe; its error, if any, comes back through another.
 */
static pid_t launch_gated(struct launch *l, int quiet, struct err *err)
{
    int hold[2], report[2];
    pid_t pid;

    if (pipe2(hold, O_CLOEXEC) < 0 || pipe2(report, O_CLOEXEC) < 0)
        return cannot_start(err);
    pid = fork();
    if (!pid) {
        int error;
        char c;

        close(hold[1]);
        while (read(hold[0], &c, 1) < 0 && errno == EINTR)
            ;
        error = become(l, quiet);
        (void)!write(report[1], &error, sizeof(error));
        _exit(127);
    }
    close(hold[0]);
    close(report[1]);
    l->gate = hold[1];
    l->failure = report[0];
    return pid < 0 ? cannot_start(err) : pid;
}

int launch_release(struct launch *l, struct err *err)
{
    int error = 0;
    ssize_t n;

    close(l->gate);
    n = read(l->failure, &error, sizeof(error)); /* closed by a successful exec */
    close(l->failure);
    l->gate = l->failure = -1;
    return n == sizeof(error) ? exec_failed(err, l->argv[0], error) : 0;
}

pid_t launch(struct launch *l, struct err *err)
{
    int quiet = l->mute ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    volatile int error = 0;
    pid_t pid;

    l->gate = l->failure = -1;
    if (l->mute && quiet < 0)
        return err_code(err, 125, "cannot open /dev/null: %s", strerror(errno));
    if (l->gated) {
        l->floor = self_shrink(); /* for a forked child, which cannot tell us */
        pid = launch_gated(l, quiet, err);
    } else {
        pid = vfork(); /* returns here once the child has become the command, or has failed to */
        if (!pid) {
            error = become(l, quiet);
            _exit(127);
        }
        if (pid < 0)
            cannot_start(err);
    }
    if (quiet >= 0)
        close(quiet);
    return pid > 0 && error ? exec_failed(err, l->argv[0], error) : pid;
}
