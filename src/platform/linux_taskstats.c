#include "watch/taskstats.h"

#include "base/memory.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SOCKET_BUFFER (8 << 20)
#define PENDING_MOST 4096
#define PENDING_NS 2000000000u /* a parent that lives this long has been sampled */
#define VERSION_WITH_TGID 12
#define TGID_AT 368u /* in the record; headers older than the kernel do not know it */

struct taskstats_pending {
    struct tree_end end;
    char name[TS_COMM_LEN];
    uint64_t since_ns;
};

struct message {
    struct nlmsghdr header;
    struct genlmsghdr generic;
    char attributes[256];
};

static const struct nlattr *attribute_next(const struct nlattr *a)
{
    return (const struct nlattr *)((const char *)a + NLA_ALIGN(a->nla_len));
}

/* The attribute of this type in [from, end), or NULL. */
static const struct nlattr *attribute_find(const void *from, const void *end, int type)
{
    const struct nlattr *a = from;

    while ((const char *)a + NLA_HDRLEN <= (const char *)end && a->nla_len >= NLA_HDRLEN &&
           (const char *)a + a->nla_len <= (const char *)end) {
        if ((a->nla_type & NLA_TYPE_MASK) == type)
            return a;
        a = attribute_next(a);
    }
    return NULL;
}

static int command(int fd, uint16_t family, uint8_t number, uint16_t type, const char *text)
{
    struct message m = {0};
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    struct nlattr *a = (struct nlattr *)m.attributes;
    size_t len = strlen(text) + 1;

    a->nla_type = type;
    a->nla_len = (uint16_t)(NLA_HDRLEN + len);
    memcpy(m.attributes + NLA_HDRLEN, text, len);
    m.header.nlmsg_type = family;
    m.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    m.header.nlmsg_len = (uint32_t)(NLMSG_HDRLEN + GENL_HDRLEN + NLA_ALIGN(a->nla_len));
    m.generic.cmd = number;
    m.generic.version = 1;
    return sendto(fd, &m, m.header.nlmsg_len, 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0
             ? -1
             : 0;
}

/* Wait for the answer to a command: 0, or the kernel's error; *family is filled when it is there. */
static int answer(int fd, uint16_t *family)
{
    _Alignas(8) char text[8192];

    for (;;) {
        ssize_t n = recv(fd, text, sizeof(text), 0);
        const struct nlmsghdr *h = (const struct nlmsghdr *)text;

        if (n < 0)
            return errno;
        for (; NLMSG_OK(h, (size_t)n); h = NLMSG_NEXT(h, n)) {
            const char *body = (const char *)NLMSG_DATA(h);
            const struct nlattr *a;

            if (h->nlmsg_type == NLMSG_ERROR)
                return -((const struct nlmsgerr *)body)->error;
            a = attribute_find(body + GENL_HDRLEN, (const char *)h + h->nlmsg_len,
                               CTRL_ATTR_FAMILY_ID);
            if (a && h->nlmsg_type == GENL_ID_CTRL)
                memcpy(family, (const char *)a + NLA_HDRLEN, sizeof(*family));
        }
    }
}

int taskstats_open(struct taskstats_reader *s, struct err *err)
{
    struct sockaddr_nl local = {.nl_family = AF_NETLINK};
    struct timeval patience = {.tv_sec = 2};
    int room = SOCKET_BUFFER, error;
    char cpus[32];

    *s = (struct taskstats_reader){
        .fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC)};
    if (s->fd < 0 || bind(s->fd, (struct sockaddr *)&local, sizeof(local)) < 0)
        goto no;
    setsockopt(s->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
    setsockopt(s->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    snprintf(cpus, sizeof(cpus), "0-%ld", sysconf(_SC_NPROCESSORS_CONF) - 1);
    if (command(s->fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
                TASKSTATS_GENL_NAME) < 0)
        goto no;
    error = answer(s->fd, &s->family);
    if (!error && !s->family)
        error = ENOENT;
    if (!error &&
        command(s->fd, s->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus) < 0)
        error = errno;
    if (!error)
        error = answer(s->fd, &s->family);
    if (!error)
        return 0;
    errno = error;
no:
    err_set(err, "the kernel gives no exit records: %s", strerror(errno));
    taskstats_close(s);
    return -1;
}

static bool in_tree(const struct tree *t, const struct tree_end *end)
{
    uint64_t parent;

    if (tree_has(t, end->pid) || end->ppid == t->self || tree_has(t, end->ppid))
        return true;
    /* Its parent has just ended as well; after that it would be our own child. */
    return intmap_get(&t->by_pid, (uint64_t)end->ppid, &parent) &&
           t->all[parent].died_ns != ABSENT && t->all[parent].died_ns + PENDING_NS > t->now_ns;
}

static void keep_pending(struct taskstats_reader *s, const struct tree_end *end, uint64_t now_ns)
{
    struct taskstats_pending *p;

    if (s->pending_count == PENDING_MOST)
        memmove(s->pending, s->pending + 1, --s->pending_count * sizeof(*s->pending));
    if (s->pending_count == s->pending_room) {
        s->pending_room = s->pending_room ? s->pending_room * 2 : 32;
        s->pending = memory_resize(s->pending, s->pending_room * sizeof(*s->pending));
    }
    p = &s->pending[s->pending_count++];
    p->end = *end;
    p->since_ns = now_ns;
    snprintf(p->name, sizeof(p->name), "%s", end->name);
}

/* Records of children come before their parent's: look again whenever the tree has grown. */
static void retry_pending(struct taskstats_reader *s, struct tree *t)
{
    bool again = true;

    while (again) {
        size_t kept = 0;

        again = false;
        for (size_t i = 0; i < s->pending_count; i++) {
            struct taskstats_pending *p = &s->pending[i];

            p->end.name = p->name;
            if (in_tree(t, &p->end)) {
                tree_ended(t, &p->end);
                again = true;
            } else if (p->since_ns + PENDING_NS > t->now_ns) {
                s->pending[kept++] = *p;
            }
        }
        s->pending_count = kept;
    }
}

/* One record of a task. Threads bring their process's mark, but only its leader ends it. */
static void take(struct taskstats_reader *s, struct tree *t, const struct nlattr *a)
{
    size_t len = a->nla_len - NLA_HDRLEN;
    const char *record = (const char *)a + NLA_HDRLEN;
    struct taskstats r = {0};
    struct tree_end end;
    char name[TS_COMM_LEN + 1] = "";
    uint32_t tgid;

    memcpy(&r, record, len < sizeof(r) ? len : sizeof(r));
    if (r.version < VERSION_WITH_TGID || len < TGID_AT + sizeof(tgid))
        return;
    memcpy(&tgid, record + TGID_AT, sizeof(tgid));
    if (r.ac_pid != tgid)
        return;
    memcpy(name, r.ac_comm, TS_COMM_LEN);
    end = (struct tree_end){
        .pid = (int)r.ac_pid,
        .ppid = (int)r.ac_ppid,
        .name = name,
        .rss = r.hiwater_rss * 1024,
        .vsz = r.hiwater_vm * 1024,
        .maxrss = ABSENT,
        .minor_faults = ABSENT,
        .child_faults = ABSENT,
        .lived_ns = r.ac_etime * 1000,
        .how = r.ac_exitcode & 0x7f ? TRACE_END_SIGNALED : TRACE_END_EXITED,
        .status = (int)(r.ac_exitcode & 0x7f ? r.ac_exitcode & 0x7f : r.ac_exitcode >> 8 & 0xff),
    };
    if (in_tree(t, &end))
        tree_ended(t, &end);
    else
        keep_pending(s, &end, t->now_ns);
}

static void take_message(struct taskstats_reader *s, struct tree *t, const struct nlmsghdr *h)
{
    const char *body = (const char *)NLMSG_DATA(h), *end = (const char *)h + h->nlmsg_len;
    const struct nlattr *task, *stats;

    if (h->nlmsg_type != s->family || h->nlmsg_len < NLMSG_HDRLEN + GENL_HDRLEN)
        return;
    task = attribute_find(body + GENL_HDRLEN, end, TASKSTATS_TYPE_AGGR_PID);
    if (!task)
        return;
    stats = attribute_find((const char *)task + NLA_HDRLEN, (const char *)task + task->nla_len,
                           TASKSTATS_TYPE_STATS);
    if (stats)
        take(s, t, stats);
}

void taskstats_drain(struct taskstats_reader *s, struct tree *t)
{
    _Alignas(8) char text[32768];
    ssize_t n;

    while ((n = recv(s->fd, text, sizeof(text), MSG_DONTWAIT)) > 0 || (n < 0 && errno == ENOBUFS)) {
        const struct nlmsghdr *h = (const struct nlmsghdr *)text;

        if (n < 0) {
            s->lost++;
            bound_open(&t->bound, "the kernel had to drop exit records");
            continue;
        }
        for (; NLMSG_OK(h, (size_t)n); h = NLMSG_NEXT(h, n))
            take_message(s, t, h);
    }
    retry_pending(s, t);
}

void taskstats_close(struct taskstats_reader *s)
{
    if (s->fd >= 0)
        close(s->fd);
    free(s->pending);
    *s = (struct taskstats_reader){.fd = -1};
}
