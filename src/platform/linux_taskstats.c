/* linux_taskstats - the exit records of platform.h. Needs root (CAP_NET_ADMIN) and Linux 5.19.
 *
 * The kernel sends one for each thread. A process has ended with the last of them, which the kernel
 * marks; until then its parts are added up here. It need not be the leader's, whose record alone
 * tells the exit code.
 */
#include "platform/platform.h"

#include "base/memory.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOCKET_BUFFER (8 << 20)
#define VERSION_WITH_TGID 12
#define LAST_OF_PROCESS 0x20 /* AGROUP, which older headers do not know either */
#define PARTS_MOST 65536     /* processes of the machine that have had threads */
#define TGID_AT 368u         /* in the record; headers older than the kernel do not know it */

const char records_method[] = "taskstats";

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

/* Wait for the answer to a command: 0, or the kernel's error; *family is filled when it is there.
 */
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

struct records_part {
    uint32_t process;
    struct proc_usage used; /* user and system as the ticks saw them */
    uint64_t rss, vsz;
    struct proc_end leader; /* pid 0: it has not ended */
    char name[TS_COMM_LEN + 1];
};

static struct records_part *part_of(struct records *r, uint32_t process)
{
    struct records_part *p;

    for (size_t i = r->part_count; i > 0; i--)
        if (r->parts[i - 1].process == process)
            return &r->parts[i - 1];
    if (r->part_count == PARTS_MOST) { /* most of them ended without our hearing of it */
        r->part_count = 0;
        r->lost = true;
    }
    memory_fit(r->parts, r->part_room, r->part_count + 1);
    p = &r->parts[r->part_count++];
    *p = (struct records_part){.process = process};
    return p;
}

static void add_thread(struct records_part *p, const struct taskstats *t)
{
    struct proc_usage *u = &p->used;
    uint64_t rss = t->hiwater_rss * 1024, vsz = t->hiwater_vm * 1024;

    u->cpu_ns += t->cpu_run_virtual_total;
    u->user_ns += t->ac_utime;
    u->system_ns += t->ac_stime;
    u->minor_faults += t->ac_minflt;
    u->major_faults += t->ac_majflt;
    u->waited += t->nvcsw;
    u->forced += t->nivcsw;
    p->rss = rss > p->rss ? rss : p->rss;
    p->vsz = vsz > p->vsz ? vsz : p->vsz;
}

static void note_leader(struct records_part *p, const struct taskstats *t)
{
    memcpy(p->name, t->ac_comm, TS_COMM_LEN);
    p->leader = (struct proc_end){
        .pid = (int)t->ac_pid,
        .ppid = (int)t->ac_ppid,
        .maxrss = ABSENT,
        .minor_faults = ABSENT,
        .child_faults = ABSENT,
        .lived_ns = t->ac_etime * 1000,
        .signaled = t->ac_exitcode & 0x7f,
        .status = (int)(t->ac_exitcode & 0x7f ? t->ac_exitcode & 0x7f : t->ac_exitcode >> 8 & 0xff),
    };
}

/* What all its threads used; a kernel that keeps no account of the scheduler tells ticks alone. */
static struct proc_usage usage_of(const struct records *r, const struct records_part *p)
{
    struct proc_usage u = p->used;

    if (r->lost)
        return PROC_USAGE_UNKNOWN;
    if (!u.cpu_ns)
        u.cpu_ns = u.user_ns || u.system_ns ? (u.user_ns + u.system_ns) * 1000 : ABSENT;
    if (u.cpu_ns == ABSENT)
        u.user_ns = u.system_ns = ABSENT;
    else
        proc_usage_split(&u, p->used.user_ns, p->used.system_ns);
    return u;
}

/* The record of a thread; the last of a process makes its end. */
static void take_record(struct records *r, const struct nlattr *a,
                        void (*take)(const struct proc_end *end, void *context), void *context)
{
    size_t len = a->nla_len - NLA_HDRLEN;
    const char *record = (const char *)a + NLA_HDRLEN;
    struct taskstats t = {0};
    struct records_part *p, done;
    uint32_t tgid;

    memcpy(&t, record, len < sizeof(t) ? len : sizeof(t));
    if (t.version < VERSION_WITH_TGID || len < TGID_AT + sizeof(tgid))
        return;
    memcpy(&tgid, record + TGID_AT, sizeof(tgid));
    p = part_of(r, tgid);
    add_thread(p, &t);
    if (t.ac_pid == tgid)
        note_leader(p, &t);
    if (!(t.ac_flag & LAST_OF_PROCESS))
        return;
    done = *p;
    *p = r->parts[--r->part_count];
    if (!done.leader.pid) /* its record was lost, or older than our listening */
        return;
    done.leader.name = done.name;
    done.leader.rss = done.rss;
    done.leader.vsz = done.vsz;
    done.leader.used = usage_of(r, &done);
    take(&done.leader, context);
}

static void take_message(struct records *r, const struct nlmsghdr *h,
                         void (*take)(const struct proc_end *end, void *context), void *context)
{
    const char *body = (const char *)NLMSG_DATA(h), *end = (const char *)h + h->nlmsg_len;
    const struct nlattr *task, *stats;

    if (h->nlmsg_type != r->by || h->nlmsg_len < NLMSG_HDRLEN + GENL_HDRLEN)
        return;
    task = attribute_find(body + GENL_HDRLEN, end, TASKSTATS_TYPE_AGGR_PID);
    if (!task)
        return;
    stats = attribute_find((const char *)task + NLA_HDRLEN, (const char *)task + task->nla_len,
                           TASKSTATS_TYPE_STATS);
    if (stats)
        take_record(r, stats, take, context);
}

bool records_drain(struct records *r, void (*take)(const struct proc_end *end, void *context),
                   void *context)
{
    _Alignas(8) char text[32768];
    bool whole = true;
    ssize_t n;

    while ((n = recv(r->fd, text, sizeof(text), MSG_DONTWAIT)) > 0 || (n < 0 && errno == ENOBUFS)) {
        const struct nlmsghdr *h = (const struct nlmsghdr *)text;

        whole = whole && n > 0;
        r->lost = r->lost || n < 0;
        for (; n > 0 && NLMSG_OK(h, (size_t)n); h = NLMSG_NEXT(h, n))
            take_message(r, h, take, context);
    }
    return whole;
}

struct heard {
    int pid;
    bool it;
};

static void hear(const struct proc_end *end, void *context)
{
    struct heard *h = context;

    h->it |= end->pid == h->pid;
}

/* In a network of its own the kernel takes our wish and sends the records to nobody: so one that we
 * start must be heard when it has ended. A record is sent before the end can be waited for.
 */
static bool are_heard(struct records *r)
{
    struct heard h = {.pid = vfork()}; /* which copies no memory */

    if (h.pid == 0)
        _exit(0);
    if (h.pid < 0)
        return false;
    while (waitpid(h.pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return records_drain(r, hear, &h) && h.it;
}

int records_open(struct records *r, struct err *err)
{
    struct sockaddr_nl local = {.nl_family = AF_NETLINK};
    struct timeval patience = {.tv_sec = 2};
    int room = SOCKET_BUFFER, error;
    uint16_t family = 0;
    char cpus[32];

    *r = (struct records){.fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC)};
    if (r->fd < 0 || bind(r->fd, (struct sockaddr *)&local, sizeof(local)) < 0)
        goto no;
    setsockopt(r->fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
    setsockopt(r->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    snprintf(cpus, sizeof(cpus), "0-%ld", sysconf(_SC_NPROCESSORS_CONF) - 1);
    if (command(r->fd, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME,
                TASKSTATS_GENL_NAME) < 0)
        goto no;
    error = answer(r->fd, &family);
    if (!error && !family)
        error = ENOENT;
    if (!error &&
        command(r->fd, family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus) < 0)
        error = errno;
    if (!error)
        error = answer(r->fd, &family);
    r->by = family;
    if (!error && are_heard(r))
        return 0;
    errno = error ? error : ENODATA;
no:
    err_set(err, "the kernel gives no exit records: %s", strerror(errno));
    records_close(r);
    return -1;
}

void records_close(struct records *r)
{
    if (r->fd >= 0)
        close(r->fd);
    free(r->parts);
    *r = (struct records){.fd = -1};
}
