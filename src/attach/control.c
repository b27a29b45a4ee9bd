/* control - see control.h. */
#include "attach/control.h"

#include "base/utf8.h"
#include "trace/ring.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define HEAR_MS 500
#define CONNECT_MS 5000
#define ANSWER_MS 30000 /* a recorder that is busy answers between two readings */
#define END_MS 600000   /* for the names of a large program */
#define COLLECTORS_MOST 16

static socklen_t name_of(struct sockaddr_un *a, int collector)
{
    int n;

    memset(a, 0, sizeof(*a));
    a->sun_family = AF_UNIX;
    n = snprintf(a->sun_path + 1, sizeof(a->sun_path) - 1, "tidemark-%d", collector);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int control_listen(void)
{
    struct sockaddr_un a;
    socklen_t size = name_of(&a, getpid());
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    int error;

    if (fd >= 0 && (bind(fd, (struct sockaddr *)&a, size) < 0 || listen(fd, 8) < 0)) {
        error = errno;
        close(fd);
        errno = error;
        fd = -1;
    }
    return fd;
}

static bool is_ours(int fd)
{
    struct ucred who;
    socklen_t size = sizeof(who);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           (who.uid == 0 || who.uid == geteuid());
}

static bool hear(int fd, char said[CONTROL_TEXT])
{
    struct pollfd p = {fd, POLLIN, 0};
    ssize_t n = poll(&p, 1, HEAR_MS) > 0 ? recv(fd, said, CONTROL_TEXT - 1, 0) : -1;

    said[n > 0 ? n : 0] = '\0';
    return n > 0;
}

int control_accept(int listener, char said[CONTROL_TEXT])
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd >= 0 && (!is_ours(fd) || !hear(fd, said))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

void control_answer(int fd, const char *text)
{
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- the other side ---- */

/* Anybody can take any name. Who listens must be the process that the name says, of root, of our
 * own user, or of the user whose process is recorded.
 */
static bool is_collector(int fd, int collector, int pid)
{
    struct ucred who;
    socklen_t size = sizeof(who);
    struct stat process;
    char path[32];

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0 || who.pid != collector)
        return false;
    snprintf(path, sizeof(path), "/proc/%d", pid);
    return who.uid == 0 || who.uid == geteuid() ||
           (stat(path, &process) == 0 && process.st_uid == who.uid);
}

static void set_patience(int fd, int ms)
{
    struct timeval patience = {.tv_sec = ms / 1000};

    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

/* The collector that records `pid`, if it is this one; -1: it is not. */
static int connect_to(int collector, int pid)
{
    struct sockaddr_un a;
    socklen_t size = name_of(&a, collector);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd >= 0)
        set_patience(fd, CONNECT_MS);
    if (fd >= 0 &&
        (connect(fd, (struct sockaddr *)&a, size) < 0 || !is_collector(fd, collector, pid))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* The collectors whose memory this process has, the latest last. */
static int by_maps(int pid, int found[COLLECTORS_MOST])
{
    char path[64], line[4096];
    int count = 0, collector;
    const char *at;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        at = strstr(line, "/memfd:" RING_NAME);
        if (!at || sscanf(at, "/memfd:" RING_NAME "%d", &collector) != 1)
            continue;
        for (int i = 0; i < count; i++)
            collector = found[i] == collector ? 0 : collector;
        if (collector && count < COLLECTORS_MOST)
            found[count++] = collector;
    }
    if (f)
        fclose(f);
    return count;
}

/* One that could not be recorded itself was still started by one. */
static int by_environment(int pid)
{
    char path[64], *word = NULL;
    size_t room = 0;
    int collector = 0;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/%d/environ", pid);
    f = fopen(path, "re");
    while (f && !collector && getdelim(&word, &room, '\0', f) > 0)
        sscanf(word, RING_ENV "=/proc/%d/fd/", &collector);
    if (f)
        fclose(f);
    free(word);
    return collector;
}

bool control_orphaned(int pid)
{
    int all[COLLECTORS_MOST];

    return by_maps(pid, all) > 0;
}

static int find_collector(int pid)
{
    int all[COLLECTORS_MOST], count = by_maps(pid, all), fd = connect_to(pid, pid), collector;

    for (int i = count; i-- > 0 && fd < 0;)
        fd = connect_to(all[i], pid);
    if (fd < 0 && (collector = by_environment(pid)) > 0)
        fd = connect_to(collector, pid);
    return fd;
}

bool control_find(int pid)
{
    int fd = find_collector(pid);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static int nobody(int pid, struct err *err)
{
    if (kill(pid, 0) < 0 && errno == ESRCH)
        return err_set(err, "there is no process %d", pid);
    if (kill(pid, 0) < 0)
        return err_set(err, "process %d belongs to another user; ask as that user or as root", pid);
    return err_set(err, "process %d is not being recorded", pid);
}

/* One message, made fit to be shown; false: there is none within the time. */
static bool hear_answer(int fd, int ms, char answer[CONTROL_TEXT])
{
    char said[CONTROL_TEXT];
    ssize_t n;

    set_patience(fd, ms);
    n = recv(fd, said, sizeof(said) - 1, 0);
    said[n > 0 ? n : 0] = '\0';
    utf8_clean(answer, CONTROL_TEXT, said);
    return n > 0;
}

int control_tell(int pid, const char *text, bool to_the_end, char answer[CONTROL_TEXT],
                 struct err *err)
{
    int fd = find_collector(pid);
    char more[CONTROL_TEXT];
    bool answered, ended = true;

    if (fd < 0)
        return nobody(pid, err);
    answered = send(fd, text, strlen(text), MSG_NOSIGNAL) > 0 && hear_answer(fd, ANSWER_MS, answer);
    errno = 0;
    if (answered && to_the_end)
        ended = !hear_answer(fd, END_MS, more) && errno != EAGAIN;
    close(fd);
    if (!answered)
        return err_set(err, "the recording of process %d gives no answer; ask as its user or root",
                       pid);
    if (!ended)
        return err_set(err, "the recording of process %d is taking long to end; check its recorder",
                       pid);
    return 0;
}
