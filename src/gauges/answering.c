/* answering - the life of a gauge's process: say what is there, then answer one question after the
 * other. */
#include "gauges/gauge.h"

#include "base/clock.h"
#include "base/memory.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* Not of the tool's own memory, which has none of this to do where there is no device. */
static struct talk {
    _Alignas(uint64_t) unsigned char question[WIRE_ASK_MOST];
    int32_t pids[WIRE_PIDS_MOST];
    struct gauge_answer answer;
    struct gauge_found found;
} * talk;
static uint32_t devices;

static bool say(struct iovec *parts, size_t count)
{
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};

    return sendmsg(0, &message, MSG_NOSIGNAL) > 0;
}

static bool say_found(const struct gauge_found *f)
{
    struct wire_head head = {.kind = WIRE_FOUND, .devices = f->count};
    struct iovec parts[2] = {{&head, sizeof(head)},
                             {(void *)(uintptr_t)f->device, f->count * sizeof(f->device[0])}};

    memcpy(head.note, f->note, sizeof(head.note));
    return say(parts, 2);
}

static bool say_answer(uint32_t sequence, uint64_t cost_ns)
{
    struct wire_head head = {.kind = WIRE_READ,
                             .sequence = sequence,
                             .devices = devices,
                             .uses = talk->answer.uses,
                             .cost_ns = cost_ns};
    struct iovec parts[3] = {{&head, sizeof(head)},
                             {talk->answer.reading, devices * sizeof(talk->answer.reading[0])},
                             {talk->answer.use, talk->answer.uses * sizeof(talk->answer.use[0])}};

    memcpy(head.note, talk->answer.note, sizeof(head.note));
    return say(parts, 3);
}

static int by_number(const void *left, const void *right)
{
    const int32_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

static bool answer_to(const struct gauge *g, size_t size)
{
    uint64_t began = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    struct gauge_asked asked = {.pids = talk->pids, .now_ns = clock_ns(CLOCK_MONOTONIC)};
    const int32_t *given;
    struct wire_ask ask;

    if (!wire_understand_ask(talk->question, size, &ask, &given))
        return false;
    if (ask.pids)
        memcpy(talk->pids, given, ask.pids * sizeof(*talk->pids));
    memory_sort(talk->pids, ask.pids, sizeof(*talk->pids), by_number);
    asked.count = ask.pids;
    talk->answer.uses = 0;
    talk->answer.note[0] = '\0';
    talk->answer.devices = devices;
    for (uint32_t i = 0; i < devices; i++)
        talk->answer.reading[i] = (struct wire_reading){ABSENT, ABSENT, ABSENT, ABSENT, ABSENT};
    g->read(&asked, &talk->answer);
    for (uint32_t i = 0; i < devices && !asked.count; i++)
        talk->answer.reading[i].ours = ABSENT; /* of nobody: that is not nothing */
    return say_answer(ask.sequence, clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began);
}

/* Libraries seldom say that it is this: a node of the device that we may not open. What needs none
 * is read by files. */
static const char *forbidden(const char *name)
{
    const struct device_kind *k = device_kind_find(name, strlen(name));
    char path[4096];

    for (const char *const *sign = k->signs; k->library && *sign; sign++)
        if (strncmp(*sign, "dev/", 4) == 0 && gauge_path(path, sizeof(path), "%s", *sign) &&
            access(path, R_OK | W_OK) != 0 && errno == EACCES)
            return *sign;
    return NULL;
}

static void say_why(const char *name, struct gauge_found *f)
{
    const char *node = f->count ? NULL : forbidden(name);
    size_t used = strlen(f->note);

    if (node)
        snprintf(f->note + used, sizeof(f->note) - used, "%sno permission to read /%s",
                 used ? "; " : "", node);
}

static int serve(const struct gauge *g)
{
    ssize_t size;

    talk = memory_zeroed(sizeof(*talk));
    g->open(&talk->found);
    say_why(g->name, &talk->found);
    devices = talk->found.count;
    if (!say_found(&talk->found) || !devices)
        return 0;
    while ((size = recv(0, talk->question, sizeof(talk->question), 0)) != 0) {
        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0 || !answer_to(g, (size_t)size))
            return 1;
    }
    return 0;
}

int gauge_serve(const struct gauge *const *list, const char *name)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* one that hangs would outlive the tool for ever */
    setsid();                         /* Ctrl-C is for the command */
    for (; *list; list++)
        if (strcmp((*list)->name, name) == 0)
            return serve(*list);
    return 2;
}
