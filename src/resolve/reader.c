/* reader - see reader.h. */
#include "resolve/reader.h"

#include "base/clock.h"
#include "base/count.h"
#include "base/memory.h"
#include "base/spawn.h"
#include "platform/platform.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define READY_MS 60000   /* it is a small program; the machine may be busy */
#define FAILED_MS 400000 /* all that is waited in vain */
#define FAILURES_MOST 16 /* of the helper, each on a module of its own */

/* Beside the tool, as it was built, or where it is installed. */
int helper_find(struct helper *h, struct err *err)
{
    static const char *const places[] = {"", "/../lib/tidemark"};
    char tool[PATH_MAX];
    const char *given = h->options->helper;

    if (self_file(tool, sizeof(tool)) && strrchr(tool, '/'))
        *strrchr(tool, '/') = 0;
    if (given && snprintf(h->path, PATH_MAX, "%s", given) < PATH_MAX && access(given, X_OK) == 0)
        return 0;
    for (int i = 0; !given && i < COUNT(places); i++) {
        int n = snprintf(h->path, PATH_MAX, "%s%s/tidemark-resolve", tool, places[i]);

        if (n < PATH_MAX && access(h->path, X_OK) == 0)
            return 0;
    }
    return err_set(err, "tidemark-resolve, which names functions, is not beside the tool: %s.",
                   h->path);
}

static bool has_rights(const struct helper *h)
{
    return h->options->rights && rights_are_less(h->options->rights);
}

static const char **arguments_of(const struct helper *h, char rights[RIGHTS_TEXT])
{
    size_t count = 0;
    const char **argv = memory_zeroed((h->options->debug_directory_count + 5) * sizeof(*argv));

    argv[count++] = "tidemark-resolve";
    if (has_rights(h)) {
        argv[count++] = WIRE_RIGHTS;
        argv[count++] = rights_text(h->options->rights, rights);
    }
    if (h->options->ask_debuginfod)
        argv[count++] = "--debuginfod";
    for (size_t i = 0; i < h->options->debug_directory_count; i++)
        argv[count++] = h->options->debug_directories[i];
    return argv;
}

static int spawn(struct helper *h, int socket)
{
    char rights[RIGHTS_TEXT];
    const char **argv = arguments_of(h, rights);
    int root = has_rights(h) ? h->options->rights->root : 0;
    int failed = spawn_helper(h->path, argv, socket, root, &h->pid);

    free(argv);
    return failed;
}

static int64_t now_ms(void)
{
    return (int64_t)(clock_ns(CLOCK_MONOTONIC) / 1000000u);
}

/* The length of what the helper says; 0 when it is gone or too late. */
size_t helper_hear(struct helper *h, int patience_ms)
{
    struct pollfd ready = {.fd = h->socket, .events = POLLIN};
    int64_t began = now_ms();
    ssize_t n;
    int got;

    do
        got = poll(&ready, 1, patience_ms);
    while (got < 0 && errno == EINTR);
    n = got > 0 ? recv(h->socket, h->message, WIRE_MOST, 0) : 0;
    if (n <= 0)
        h->failed_ms += now_ms() - began;
    return n > 0 ? (size_t)n : 0;
}

int helper_stop(struct helper *h, bool at_once)
{
    int status = 0;

    if (h->socket < 0)
        return 0;
    close(h->socket); /* the helper ends when it sees this */
    h->socket = -1;
    if (at_once)
        kill(h->pid, SIGKILL);
    while (waitpid(h->pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static bool greet(struct helper *h)
{
    int status;

    if (helper_hear(h, READY_MS) == strlen(WIRE_READY))
        return true;
    status = helper_stop(h, false);
    snprintf(
        h->broken, sizeof(h->broken),
        WIFEXITED(status) && WEXITSTATUS(status) == 127
            ? "'%.300s' cannot start: a library that it needs (libdw, libelf, liblzma, libz) is "
              "missing"
            : "'%.300s', which names functions, ends as soon as it is started",
        h->path);
    return false;
}

bool helper_start(struct helper *h)
{
    int pair[2];
    int failed;

    if (h->socket >= 0)
        return true;
    if (h->broken[0] && !h->failures)
        return false;
    if (h->failures > FAILURES_MOST || h->failed_ms > FAILED_MS ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    failed = spawn(h, pair[1]);
    close(pair[1]);
    if (failed) {
        close(pair[0]);
        snprintf(h->broken, sizeof(h->broken), "cannot start '%.300s', which names functions: %s",
                 h->path, strerror(failed));
        return false;
    }
    h->socket = pair[0];
    return greet(h);
}

bool helper_say(struct helper *h, size_t bytes)
{
    return send(h->socket, h->message, bytes, MSG_NOSIGNAL) > 0;
}
