/* rights - see rights.h. */
#include "base/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY 65534
#define EVERYTHING UINT64_MAX

static ssize_t read_text(const char *path, char *text, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, room - 1);

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n;
}

/* The four of "Uid:\treal\teffective\tsaved\tfs": the last is what files are opened with. */
static unsigned long fourth(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    unsigned long number = NOBODY;

    if (at)
        sscanf(at + strlen(key), "%*u %*u %*u %lu", &number);
    return number;
}

static void take_groups(struct rights *r, const char *text)
{
    const char *at = strstr(text, "\nGroups:");
    char *end;

    for (at = at ? at + 8 : ""; r->group_count < RIGHTS_GROUPS_MOST; at = end) {
        at += strspn(at, " \t");
        r->groups[r->group_count] = (gid_t)strtoul(at, &end, 10);
        if (end == at)
            return;
        r->group_count++;
    }
}

/* Which files a path leads to: the mounts, and the directory that is the root. False when it has
 * neither any more: one that ends loses them before anybody else can see that it does.
 */
static bool find_place(int pid, char out[64])
{
    char path[40], space[32] = "";
    struct stat root = {0};
    bool there;

    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
    there = readlink(path, space, sizeof(space) - 1) >= 0 || errno == EACCES;
    snprintf(path, sizeof(path), "/proc/%d/root", pid);
    there = (stat(path, &root) == 0 || errno == EACCES) && there;
    snprintf(out, 64, "%s %ju %ju", space, (uintmax_t)root.st_dev, (uintmax_t)root.st_ino);
    return there;
}

static bool read_rights(struct rights *r, int pid, const char *was)
{
    static char ours[64]; /* it stays */
    char path[40], text[4096];
    const char *at;

    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    if (read_text(path, text, sizeof(text)) <= 0)
        return false;
    r->uid = (uid_t)fourth(text, "\nUid:");
    r->gid = (gid_t)fourth(text, "\nGid:");
    take_groups(r, text);
    at = strstr(text, "\nCapEff:");
    r->capabilities = at ? strtoull(at + 8, NULL, 16) : 0;
    if (!ours[0])
        find_place(getpid(), ours);
    if (!find_place(pid, r->place))
        snprintf(r->place, sizeof(r->place), "%s", was); /* which says nothing */
    else if (strcmp(r->place, ours) == 0)
        r->place[0] = '\0';
    return r->known = true;
}

static bool are_equal(const struct rights *a, const struct rights *b)
{
    return a->uid == b->uid && a->gid == b->gid && a->group_count == b->group_count &&
           memcmp(a->groups, b->groups, a->group_count * sizeof(a->groups[0])) == 0 &&
           (a->root > 0) == (b->place[0] != '\0') && strcmp(a->place, b->place) == 0;
}

static void open_root(struct rights *r, int pid)
{
    char path[40];

    snprintf(path, sizeof(path), "/proc/%d/root", pid);
    r->root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (r->root <= 0) {
        r->root = 0;
        r->mixed = true; /* it sees other files than we could open */
    }
}

void rights_look(struct rights *r, int pid)
{
    struct rights seen = {0};

    if (geteuid() != 0 || r->mixed || !read_rights(&seen, pid, r->place))
        return;
    if (r->known) {
        r->mixed = !are_equal(r, &seen);
        r->capabilities &= seen.capabilities;
        return;
    }
    *r = seen;
    if (r->place[0])
        open_root(r, pid);
}

static uint64_t own_capabilities(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0}};

    if (syscall(SYS_capget, &head, data) != 0)
        return EVERYTHING;
    return data[0].effective | (uint64_t)data[1].effective << 32;
}

static int keep_capabilities(uint64_t wanted)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    uint64_t kept = own_capabilities() & wanted;
    struct __user_cap_data_struct data[2] = {
        {.effective = (uint32_t)kept, .permitted = (uint32_t)kept},
        {.effective = (uint32_t)(kept >> 32), .permitted = (uint32_t)(kept >> 32)}};

    return (int)syscall(SYS_capset, &head, data);
}

bool rights_are_less(const struct rights *r)
{
    if (geteuid() != 0)
        return false;
    return !r->known || r->mixed || r->uid != 0 || r->root > 0 ||
           (own_capabilities() & ~r->capabilities) != 0;
}

int rights_take(const struct rights *r)
{
    bool everybody = !r->known || r->mixed;
    uid_t uid = everybody ? NOBODY : r->uid;
    gid_t gid = everybody ? NOBODY : r->gid;

    if (!rights_are_less(r))
        return 0;
    if (!everybody && r->root > 0 && (fchdir(r->root) < 0 || chroot(".") < 0))
        return -1;
    if (uid == 0)
        return keep_capabilities(r->capabilities);
    if (setgroups(everybody ? 0 : r->group_count, r->groups) < 0 || setresgid(gid, gid, gid) < 0 ||
        setresuid(uid, uid, uid) < 0)
        return -1;
    return 0; /* the capabilities went with root */
}

char *rights_text(const struct rights *r, char out[RIGHTS_TEXT])
{
    bool everybody = !r->known || r->mixed;
    int n = snprintf(out, RIGHTS_TEXT, "%ju,%ju,%" PRIx64, (uintmax_t)(everybody ? NOBODY : r->uid),
                     (uintmax_t)(everybody ? NOBODY : r->gid), r->capabilities);

    for (size_t i = 0; !everybody && i < r->group_count; i++)
        n += snprintf(out + n, RIGHTS_TEXT - (size_t)n, ",%ju", (uintmax_t)r->groups[i]);
    return out;
}

bool rights_parse(struct rights *r, const char *text)
{
    char *end;

    *r = (struct rights){.known = true};
    r->uid = (uid_t)strtoul(text, &end, 10);
    if (*end != ',')
        return false;
    r->gid = (gid_t)strtoul(end + 1, &end, 10);
    if (*end != ',')
        return false;
    r->capabilities = strtoull(end + 1, &end, 16);
    while (*end == ',' && r->group_count < RIGHTS_GROUPS_MOST)
        r->groups[r->group_count++] = (gid_t)strtoul(end + 1, &end, 10);
    return *end == '\0';
}

void rights_free(struct rights *r)
{
    if (r->root > 0)
        close(r->root);
    r->root = 0;
}
