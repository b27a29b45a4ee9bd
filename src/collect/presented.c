/* presented - see presented.h. */
#include "collect/presented.h"

#include "collect/giver.h"
#include "trace/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMERS_MOST 8192 /* at once: more than wait at the doors */
#define OWN_NETWORK "/proc/self/ns/net"
#define KEPT_MOST 65536 /* numbers that nobody has claimed: a program may send what it likes */

static uint64_t inode_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (uint64_t)st.st_ino : 0;
}

static void add_network(struct presented *p, uint64_t inode, int listener)
{
    p->networks[p->network_count].inode = inode;
    p->networks[p->network_count++].listener = listener;
}

uint64_t presented_open(struct presented *p, int listener)
{
    add_network(p, inode_of(OWN_NETWORK), listener);
    if (listener < 0 ||
        getrandom(&p->secret, sizeof(p->secret), GRND_NONBLOCK) != (ssize_t)sizeof(p->secret))
        p->secret = 0;
    return p->secret;
}

/* A socket belongs to the network namespace that its maker was in. */
static int listen_in(const char *network)
{
    int own = open(OWN_NETWORK, O_RDONLY | O_CLOEXEC), fd = -1;
    int other = own < 0 ? -1 : open(network, O_RDONLY | O_CLOEXEC);

    if (other >= 0 && setns(other, CLONE_NEWNET) == 0) {
        fd = giver_listen(RING_WHO);
        while (setns(own, CLONE_NEWNET) < 0 && errno == EINTR)
            ;
    }
    if (other >= 0)
        close(other);
    if (own >= 0)
        close(own);
    return fd;
}

void presented_reach(struct presented *p, int pid)
{
    char network[32];
    uint64_t inode;

    snprintf(network, sizeof(network), "/proc/%d/ns/net", pid);
    inode = p->secret && p->networks[0].inode ? inode_of(network) : 0;
    for (unsigned int i = 0; i < p->network_count; i++)
        if (p->networks[i].inode == inode)
            return;
    if (inode && p->network_count < PRESENTED_NETWORKS)
        add_network(p, inode, listen_in(network));
}

static void keep(struct presented *p, uint32_t number, int pid)
{
    uint64_t before = 0;

    if (p->kept == KEPT_MOST)
        return;
    intmap_get(&p->pids, number, &before);
    intmap_put(&p->pids, number, (uint64_t)pid);
    p->kept += !before;
}

/* False: it has not sent its number yet. */
static bool hear(struct presented *p, int fd, int pid)
{
    struct ring_presented said = {0};
    ssize_t got = recv(fd, &said, sizeof(said), MSG_DONTWAIT);

    if (got < 0 && errno == EAGAIN)
        return false;
    if (got == (ssize_t)sizeof(said) && said.secret == p->secret)
        keep(p, said.process, pid);
    close(fd);
    return true;
}

static void hear_waiting(struct presented *p)
{
    unsigned int left = 0;

    for (unsigned int i = 0; i < p->waiting_count; i++)
        if (!hear(p, p->waiting[i].fd, p->waiting[i].pid))
            p->waiting[left++] = p->waiting[i];
    p->waiting_count = left;
}

/* Who says nothing makes room for others. */
static void keep_waiting(struct presented *p, int fd, int pid)
{
    if (p->waiting_count == PRESENTED_WAITING)
        hear_waiting(p);
    if (p->waiting_count == PRESENTED_WAITING) {
        close(p->waiting[0].fd);
        for (unsigned int i = 1; i < PRESENTED_WAITING; i++)
            p->waiting[i - 1] = p->waiting[i];
        p->waiting_count--;
    }
    p->waiting[p->waiting_count].fd = fd;
    p->waiting[p->waiting_count++].pid = pid;
}

static void take_from(struct presented *p, int listener)
{
    int pid, fd;

    for (int i = 0; i < COMERS_MOST && (pid = giver_accept(listener, &fd)) > 0; i++)
        if (!hear(p, fd, pid))
            keep_waiting(p, fd, pid);
}

void presented_take(struct presented *p)
{
    if (!p->secret)
        return;
    hear_waiting(p);
    for (unsigned int i = 0; i < p->network_count; i++)
        if (p->networks[i].listener >= 0)
            take_from(p, p->networks[i].listener);
}

int presented_pid(struct presented *p, uint32_t number)
{
    uint64_t pid;

    presented_take(p);
    if (!intmap_get(&p->pids, number, &pid) || !pid)
        return 0;
    intmap_put(&p->pids, number, 0);
    p->kept--;
    return (int)pid;
}

void presented_close(struct presented *p)
{
    for (unsigned int i = 0; i < p->waiting_count; i++)
        close(p->waiting[i].fd);
    for (unsigned int i = 0; i < p->network_count; i++)
        if (p->networks[i].listener >= 0)
            close(p->networks[i].listener);
    intmap_free(&p->pids);
    *p = (struct presented){0};
}
