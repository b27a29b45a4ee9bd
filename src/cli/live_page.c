/* live_page - see live_page.h. */
#include "cli/live_page.h"

#include "base/jail.h"
#include "cli/served.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAREWELL_MS 30000 /* longer than it takes its time */

/* It holds nothing of the recorder's: neither its terminal nor what is read of it. */
static void let_go(void)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = 0; nothing >= 0 && fd <= 2; fd++)
        dup2(nothing, fd);
    setsid();
    jail_privileges();
}

/* In a process of its own. It is handed to init by the end of the one that starts it. */
static void serve_apart(struct served *s, int listen_to, int tell_end)
{
    if (fork())
        _exit(0);
    let_go();
    fcntl(listen_to, F_SETFL, O_NONBLOCK);
    s->serve.recorder = listen_to;
    serve_run(&s->serve);
    close(tell_end);
    _exit(0);
}

static int start(struct live_page *l, struct served *s, struct err *err)
{
    int to[2], from[2];
    pid_t pid;

    if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
        return err_set(err, "no page can be served: %s", strerror(errno));
    pid = fork();
    if (pid == 0) {
        close(to[1]);
        close(from[0]);
        serve_apart(s, to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    if (pid < 0)
        return err_set(err, "no page can be served: %s", strerror(errno));
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    *l = (struct live_page){to[1], from[0], l->address};
    return 0;
}

int live_page_start(struct live_page *l, const char *port, struct arena *a, struct err *err)
{
    const char *const paths[] = {"", NULL}; /* it is told later */
    struct served s;
    int result = served_open(&s, paths, port, err);

    if (result == 0) {
        l->address = arena_printf(a, "%s", served_address(&s));
        result = start(l, &s, err);
    }
    served_close(&s);
    return result;
}

void live_page_of(const struct live_page *l, const char *path)
{
    size_t count = strlen(path) + 1;

    if (l->tell && write(l->tell, path, count) != (ssize_t)count)
        return; /* it is gone, and nobody looks */
}

void live_page_end(struct live_page *l)
{
    struct pollfd gone = {.fd = l->gone, .events = POLLIN};

    if (!l->tell)
        return;
    close(l->tell);
    poll(&gone, 1, FAREWELL_MS);
    close(l->gone);
    *l = (struct live_page){0};
}
