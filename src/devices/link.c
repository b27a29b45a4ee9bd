/* link - see link.h. */
#include "devices/link.h"

#include "base/clock.h"
#include "base/count.h"
#include "base/spawn.h"
#include "platform/platform.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define FAILURES_MOST 3
#define REST_NS CLOCK_SECOND_NS
#define SHARE 100u /* of one CPU: an answer that took long is not asked for again at once, */
#define SPARED_MOST_NS CLOCK_SECOND_NS /* but then */
#define UNHEARD_NS CLOCK_SECOND_NS     /* at the end: so long without an answer is worth a word */
#define WAITS_MOST 50
#define WAIT_NS 1000000

static void set_state(struct link *l, enum link_state state, uint64_t now_ns)
{
    l->state = state;
    l->since_ns = now_ns;
}

/* The program that loads libraries is beside the tool, or where it is installed; what needs none is
 * read by the tool itself, under another name.
 */
static bool find_program(const struct link *l, char path[PATH_MAX])
{
    static const char *const places[] = {"%.*s/" WIRE_PROGRAM,
                                         "%.*s/../lib/tidemark/" WIRE_PROGRAM};
    char tool[PATH_MAX];
    const char *slash = self_file(tool, sizeof(tool)) ? strrchr(tool, '/') : NULL;

    if (!l->kind->library)
        return slash && snprintf(path, PATH_MAX, "%s", tool) < PATH_MAX;
    for (int i = 0; slash && i < COUNT(places); i++)
        if (snprintf(path, PATH_MAX, places[i], (int)(slash - tool), tool) < PATH_MAX &&
            access(path, X_OK) == 0)
            return true;
    return false;
}

void link_off(struct link *l, const char *note)
{
    if (l->socket >= 0)
        close(l->socket); /* it ends when it sees this */
    l->socket = -1;
    l->state = LINK_OFF;
    if (note)
        snprintf(l->note, sizeof(l->note), "%s", note);
}

void link_start(struct link *l, uint64_t now_ns)
{
    const char *argv[] = {WIRE_PROGRAM, l->kind->name, NULL};
    char path[PATH_MAX];
    int pair[2], failed;

    l->socket = -1;
    if (!find_program(l, path)) {
        link_off(l, WIRE_PROGRAM ", which reads it, is not beside the tool");
        return;
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        link_off(l, strerror(errno));
        return;
    }
    failed = spawn_helper(path, argv, pair[1], 0, &l->pid);
    close(pair[1]);
    l->socket = pair[0];
    set_state(l, LINK_STARTING, now_ns);
    if (failed) {
        l->pid = 0;
        link_off(l, NULL);
        snprintf(l->note, sizeof(l->note), "cannot start %.160s: %s", path, strerror(failed));
    }
}

void link_ask(struct link *l, const int32_t *pids, size_t count, uint64_t now_ns)
{
    struct wire_ask ask = {.sequence = l->sequence + 1};
    struct iovec parts[2] = {{&ask, sizeof(ask)}, {(void *)(uintptr_t)pids, 0}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};

    if (l->state != LINK_IDLE || now_ns < l->next_ns)
        return;
    ask.pids = (uint32_t)(count < WIRE_PIDS_MOST ? count : WIRE_PIDS_MOST);
    parts[1].iov_len = ask.pids * sizeof(*pids);
    if (sendmsg(l->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return; /* its end is heard of, or its patience ends */
    l->sequence++;
    set_state(l, LINK_ASKED, now_ns);
}

/* It hangs, it died, or what it said makes no sense. What never told of a device is given up at
 * once. */
static void fail(struct link *l, const char *what, uint64_t now_ns)
{
    if (l->pid)
        kill(l->pid, SIGKILL);
    link_off(l, NULL);
    snprintf(l->note, sizeof(l->note), "%s %s", l->kind->way, what);
    if (++l->failures >= FAILURES_MOST || !l->found)
        return;
    set_state(l, LINK_RESTING, now_ns);
    l->next_ns = now_ns + REST_NS;
}

static void take_found(struct link *l, const struct wire_answer *a)
{
    if (!a->head->devices) {
        link_off(l, a->head->note[0] ? a->head->note : "no such device");
        return;
    }
    l->found = true;
    l->state = LINK_IDLE;
    if (a->head->note[0])
        snprintf(l->note, sizeof(l->note), "%s", a->head->note);
}

static void take_read(struct link *l, const struct wire_answer *a, uint64_t now_ns)
{
    uint64_t spare = a->head->cost_ns < SPARED_MOST_NS / SHARE ? a->head->cost_ns * SHARE
                                                               : SPARED_MOST_NS;

    if (a->head->note[0])
        snprintf(l->note, sizeof(l->note), "%s", a->head->note);
    l->next_ns = l->since_ns + spare;
    set_state(l, LINK_IDLE, now_ns);
}

bool link_hear(struct link *l, void *room, struct wire_answer *a, uint64_t now_ns)
{
    ssize_t n;

    if (l->state != LINK_STARTING && l->state != LINK_ASKED && l->state != LINK_IDLE)
        return false;
    n = recv(l->socket, room, WIRE_ANSWER_MOST, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0)
        return fail(l, "ended the process that asked it", now_ns), false;
    if (!wire_understand(a, room, (size_t)n) ||
        (a->head->kind == WIRE_FOUND) != (l->state == LINK_STARTING))
        return fail(l, "gave an answer that makes no sense", now_ns), false;
    if (a->head->kind == WIRE_FOUND)
        take_found(l, a);
    else if (a->head->sequence != l->sequence || l->state != LINK_ASKED)
        return fail(l, "gave an answer that nobody asked for", now_ns), false;
    else
        take_read(l, a, now_ns);
    return true;
}

void link_check(struct link *l, uint64_t now_ns)
{
    if (l->state == LINK_STARTING && now_ns - l->since_ns > LINK_START_NS)
        fail(l, "has not begun to answer within 10 s", now_ns);
    else if (l->state == LINK_ASKED && now_ns - l->since_ns > LINK_ANSWER_NS)
        fail(l, "has not answered within 2 s", now_ns);
    else if (l->state == LINK_RESTING && now_ns >= l->next_ns)
        link_start(l, now_ns);
}

void link_stop(struct link *l, uint64_t now_ns)
{
    const struct timespec moment = {0, WAIT_NS};
    bool waits = l->state == LINK_STARTING || l->state == LINK_ASKED;

    if (waits && now_ns - l->since_ns > UNHEARD_NS)
        snprintf(l->note, sizeof(l->note), "%s has not answered for the last %" PRIu64 " s",
                 l->kind->way, (now_ns - l->since_ns) / CLOCK_SECOND_NS);
    link_off(l, NULL);
    if (!l->pid)
        return;
    kill(l->pid, SIGKILL); /* it keeps nothing that could be lost */
    for (int i = 0; i < WAITS_MOST && waitpid(l->pid, NULL, WNOHANG) == 0; i++)
        nanosleep(&moment, NULL);
    l->pid = 0;
}
