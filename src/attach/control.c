/* control - see control.h. */
#include "watch/control.h"

#include "trace/ring.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define HEAR_MS 500
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

    if (fd >= 0 && (bind(fd, (struct sockaddr *)&a, size) < 0 || listen(fd, 8) < 0)) {
        close(fd);
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

static int connect_to(int collector)
{
    struct sockaddr_un a;
    socklen_t size = name_of(&a, collector);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, size) < 0) {
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
    int all[COLLECTORS_MOST], count = by_maps(pid, all), fd = connect_to(pid), collector;

    for (int i = count; i-- > 0 && fd < 0;)
        fd = connect_to(all[i]);
    if (fd < 0 && (collector = by_environment(pid)) > 0)
        fd = connect_to(collector);
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

int control_tell(int pid, const char *text, bool to_the_end, char answer[CONTROL_TEXT],
                 struct err *err)
{
    int fd = find_collector(pid);
    ssize_t n;

    if (fd < 0)
        return nobody(pid, err);
    n = send(fd, text, strlen(text), MSG_NOSIGNAL);
    if (n > 0)
        n = recv(fd, answer, CONTROL_TEXT - 1, 0);
    answer[n > 0 ? n : 0] = '\0';
    while (n > 0 && to_the_end) {
        char more[CONTROL_TEXT];

        n = recv(fd, more, sizeof(more), 0);
    }
    close(fd);
    if (!answer[0])
        return err_set(err, "the recording of process %d gives no answer; ask as its user or root",
                       pid);
    return 0;
}
