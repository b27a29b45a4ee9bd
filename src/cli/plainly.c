/* plainly - see plainly.h. */
#include "cli/plainly.h"

#include "base/memory.h"
#include "cli/command.h"
#include "collect/collect.h"
#include "watch/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct watch_options *watched;
static const struct watch_result *result;
static const char *const *trace;
static bool ended;

static int become(char *const *argv, struct err *err)
{
    limits_restore();
    execvp(argv[0], argv);
    return err_code(err, errno == ENOENT ? 127 : 126, "cannot run '%s': %s", argv[0],
                    strerror(errno));
}

static void become_mute(void)
{
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (quiet >= 0) {
        dup2(quiet, STDOUT_FILENO);
        dup2(quiet, STDERR_FILENO);
    }
}

int plainly_become(char *const *argv, const sigset_t *mask, bool mute, struct err *why)
{
    size_t len = strlen(why->text);

    if (len && why->text[len - 1] == '.')
        why->text[len - 1] = '\0'; /* the sentence goes on */
    fprintf(stderr, "tidemark: %s; '%s' runs without being recorded\n", why->text, argv[0]);
    fflush(stdout);
    if (mute)
        become_mute();
    sigprocmask(SIG_SETMASK, mask, NULL); /* we may have blocked all to watch it */
    return become(argv, why);
}

static void say(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

/* What is there is kept, if that can be had without memory: else this is not returned from. */
static void keep_trace(void)
{
    static bool tried;

    if (tried)
        return;
    tried = true;
    say("tidemark: out of memory: the recording ends here, the command goes on\n");
    if (watched->collect)
        collect_mode(watched->collect, RING_OFF);
    if (watched->store)
        trace_store_flush(watched->store);
}

static int status_of_command(void)
{
    return result->signal ? 128 + result->signal : result->exit_code;
}

/* Signals are blocked since the start: they reach the command's group without us. */
static void wait_for_command(int pid)
{
    int status = 0;

    keep_trace();
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) /* it was waited for before */
            _exit(status_of_command());
    }
    _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

static void last(void)
{
    struct err err = {0};
    sigset_t none;

    if (ended) {
        say("tidemark: out of memory: the trace lacks what is added when a recording ends\n");
        _exit(status_of_command());
    }
    if (result->main_pid > 0)
        wait_for_command(result->main_pid);
    say("tidemark: out of memory: the command runs without being recorded\n");
    if (watched->store && *trace)
        unlink(*trace);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    become(watched->argv, &err);
    _exit(err.code);
}

void plainly_after_all(const struct watch_options *w, const struct watch_result *r,
                       const char *const *path)
{
    watched = w;
    result = r;
    trace = path;
    memory_at_end(last);
}

void plainly_ended(void)
{
    ended = result->main_pid > 0;
}
