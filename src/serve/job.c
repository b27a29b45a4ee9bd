/* job - see job.h. What the process says begins with a letter: it is data, or the sentence of a
 * failure.
 */
#include "serve/job.h"

#include "base/jail.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES_MOST ((size_t)256 << 20)
#define PIECE ((size_t)64 << 10)
#define CPU_MOST 900 /* seconds */

static void limit_time(void)
{
    struct rlimit most = {CPU_MOST, CPU_MOST};

    setrlimit(RLIMIT_CPU, &most);
}

static void behave(bool gently)
{
    sigset_t none;

    sigemptyset(&none);
    signal(SIGINT, SIG_IGN); /* it is for the one who started it */
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (gently)
        setpriority(PRIO_PROCESS, 0, 19);
    limit_time();
    jail_command();
}

/* In the process. All is written at once, so that nothing is said before it is known to be good. */
static void do_work(int fd, job_work *work, void *context)
{
    struct err err = {0};
    char *bytes = NULL;
    size_t count = 0;
    FILE *in_memory = open_memstream(&bytes, &count), *out = fdopen(fd, "w");
    int failed;

    if (!in_memory || !out)
        _exit(1);
    failed = work(context, in_memory, &err);
    if (fclose(in_memory))
        _exit(1);
    fputc(failed ? 'E' : 'D', out);
    if (failed)
        fputs(err.text, out);
    else
        fwrite(bytes, 1, count, out);
    _exit(fflush(out) ? 1 : 0);
}

bool job_start(struct job *j, job_work *work, void *context, bool gently)
{
    int ends[2];

    *j = (struct job){0};
    if (pipe2(ends, O_CLOEXEC))
        return false;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    j->fd = ends[0];
    j->pid = fork();
    if (j->pid == 0) {
        close(ends[0]);
        behave(gently);
        do_work(ends[1], work, context);
    }
    close(ends[1]);
    if (j->pid > 0)
        return true;
    close(ends[0]);
    *j = (struct job){0};
    return false;
}

bool job_read(struct job *j)
{
    for (;;) {
        ssize_t got;

        if (j->count > BYTES_MOST)
            return true;
        memory_fit(j->bytes, j->room, j->count + PIECE);
        got = read(j->fd, j->bytes + j->count, PIECE);
        if (got < 0)
            return errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR;
        if (!got)
            return true;
        j->count += (size_t)got;
    }
}

static int await(struct job *j)
{
    int status = 0;

    while (waitpid(j->pid, &status, 0) < 0 && errno == EINTR)
        ;
    close(j->fd);
    return status;
}

struct body *job_end(struct job *j, struct err *err)
{
    struct body *done = NULL;
    int status;

    if (j->count > BYTES_MOST)
        kill(j->pid, SIGKILL);
    status = await(j);
    if (status || j->count < 1 || (*j->bytes != 'D' && *j->bytes != 'E'))
        err_set(err, "the trace could not be read to its end: %s",
                WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "its data cannot be made");
    else if (*j->bytes == 'E')
        err_set(err, "%.*s", (int)(j->count - 1), j->bytes + 1);
    else
        done = body_of(memmove(j->bytes, j->bytes + 1, j->count - 1), j->count - 1);
    if (!done)
        free(j->bytes);
    *j = (struct job){0};
    return done;
}

void job_cancel(struct job *j)
{
    if (!j->pid)
        return;
    kill(j->pid, SIGKILL);
    await(j);
    free(j->bytes);
    *j = (struct job){0};
}
