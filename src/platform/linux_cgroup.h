/* linux_cgroup - the group of platform.h: the control group that the command runs in: its own peak
 * where it is alone in there, and whether the kernel killed in it for lack of memory. Reads only;
 * changes nothing.
 */
#ifndef PLATFORM_LINUX_CGROUP_H
#define PLATFORM_LINUX_CGROUP_H

#include "platform/platform.h"

struct cgroup {
    int peak;         /* kept descriptor of memory.peak; -1: not ours alone, or not there */
    char events[512]; /* the file that counts OOM kills; empty: none */
    uint64_t kills;   /* when opened; ABSENT: not known */
};

/* `mount` is where cgroups are mounted ("/sys/fs/cgroup"), `membership` the text of
 * /proc/self/cgroup, `pids` the only ones (two, ourselves and the command) that may be in it for
 * its peak to be the command's.
 */
void cgroup_open(struct cgroup *c, const char *mount, const char *membership, const int pids[2]);

uint64_t cgroup_peak(const struct cgroup *c); /* bytes; ABSENT: not known */
uint64_t cgroup_kills(
    const struct cgroup *c); /* OOM kills since it was opened; ABSENT: not known */
void cgroup_close(struct cgroup *c);

#endif
