/* linux_machine - the machine of platform.h, from /proc, through kept descriptors. */
#include "platform/platform.h"

#include "base/clock.h"
#include "base/count.h"
#include "base/descriptor.h"
#include "base/memory.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR 512u

struct machine_kept {
    int meminfo, stat, diskstats, vmstat; /* kept descriptors, opened at first use; 0: not yet */
};

static struct machine_kept *kept_of(struct machine *m)
{
    if (!m->kept)
        m->kept = memory_zeroed(sizeof(*m->kept));
    return m->kept;
}

/* Read a kept file; the text ends with a NUL. False: this kernel or container lacks it. */
static bool read_kept(int *fd, const char *path, char *out, size_t room)
{
    int once = *fd ? *fd : open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = once > 0 ? pread(once, out, room - 1, 0) : -1;

    if (!*fd && once > 0)
        once = descriptor_keep(once);
    if (!*fd && (once > 0 || n < 0))
        *fd = once;
    if (n <= 0)
        return false;
    out[n] = '\0';
    return true;
}

static void put(struct machine_sample *s, enum trace_metric metric, uint64_t value)
{
    if (value != ABSENT && s->count < MACHINE_METRICS)
        s->pairs[s->count++] = (struct trace_pair){metric, value};
}

/* The value of "Key:   123 kB" in bytes; the search goes on from *at, for lines come in order. */
static uint64_t kib_line(const char **at, const char *key)
{
    const char *s = strstr(*at, key);

    if (!s)
        return ABSENT;
    *at = s;
    return strtoull(s + strlen(key), NULL, 10) * 1024;
}

static void read_memory(struct machine_kept *m, struct machine_sample *s)
{
    uint64_t total, avail, unused, buffers, cached, swap_total, swap_free, shared, slab;
    char text[4096];
    const char *at = text;

    if (!read_kept(&m->meminfo, "/proc/meminfo", text, sizeof(text)))
        return;
    total = kib_line(&at, "MemTotal:");
    unused = kib_line(&at, "MemFree:");
    avail = kib_line(&at, "MemAvailable:");
    buffers = kib_line(&at, "Buffers:");
    cached = kib_line(&at, "\nCached:");
    swap_total = kib_line(&at, "SwapTotal:");
    swap_free = kib_line(&at, "SwapFree:");
    shared = kib_line(&at, "\nShmem:");
    slab = kib_line(&at, "SReclaimable:");
    put(s, METRIC_MACHINE_TOTAL, total);
    put(s, METRIC_MACHINE_FREE, unused);
    put(s, METRIC_MACHINE_AVAILABLE, avail);
    if (total != ABSENT && unused != ABSENT && buffers != ABSENT && cached != ABSENT) {
        cached += slab == ABSENT ? 0 : slab;
        put(s, METRIC_MACHINE_CACHED, cached + buffers);
        s->used = total > unused + buffers + cached ? total - unused - buffers - cached
                                                    : total - unused;
        put(s, METRIC_MACHINE_USED, s->used);
    }
    put(s, METRIC_MACHINE_SHARED, shared);
    put(s, METRIC_MACHINE_SWAP_TOTAL, swap_total);
    if (swap_total != ABSENT && swap_free != ABSENT)
        put(s, METRIC_MACHINE_SWAP_USED, swap_total - swap_free);
}

static void read_cpu(struct machine_kept *m, struct machine_sample *s)
{
    uint64_t tick = CLOCK_SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK), all = 0, idle = 0;
    char text[8192], *at;

    if (!read_kept(&m->stat, "/proc/stat", text, sizeof(text)) || strncmp(text, "cpu ", 4))
        return;
    at = text + 4;
    for (int i = 0; i < 8;
         i++) { /* user nice system idle iowait irq softirq steal; guests are in user */
        uint64_t ticks = strtoull(at, &at, 10);

        all += ticks;
        if (i == 3 || i == 4)
            idle += ticks;
    }
    put(s, METRIC_MACHINE_CPU_BUSY, (all - idle) * tick);
    put(s, METRIC_MACHINE_CPU_ALL, all * tick);
    at = strstr(text, "\nctxt "); /* after the interrupts: absent where those fill the buffer */
    if (at)
        put(s, METRIC_MACHINE_SWITCHES, strtoull(at + 6, NULL, 10));
}

/* Whole disks only: a partition's work is its disk's, too. */
static bool is_whole_disk(const char *name, size_t len)
{
    if (!strncmp(name, "loop", 4) || !strncmp(name, "ram", 3) || !strncmp(name, "zram", 4) ||
        !strncmp(name, "dm-", 3) || !strncmp(name, "md", 2))
        return false;
    if (!strncmp(name, "nvme", 4) || !strncmp(name, "mmcblk", 6)) {
        const char *p = memrchr(name, 'p', len);

        return !p || p < name + 5 || !isdigit((unsigned char)p[-1]);
    }
    return !isdigit((unsigned char)name[len - 1]) || !strncmp(name, "sr", 2) ||
           !strncmp(name, "pmem", 4);
}

static void read_disks(struct machine_kept *m, struct machine_sample *s)
{
    uint64_t sums[4] = {0}; /* reads, sectors read, writes, sectors written */
    char text[16384];

    if (!read_kept(&m->diskstats, "/proc/diskstats", text, sizeof(text)))
        return;
    for (char *line = text, *next; *line; line = next) {
        char *name, *at = line;
        uint64_t fields[7];

        next = line + strcspn(line, "\n");
        next += *next == '\n';
        strtoul(at, &at, 10);
        strtoul(at, &at, 10);
        name = at + strspn(at, " ");
        at = name + strcspn(name, " \n");
        if (at == name || !is_whole_disk(name, (size_t)(at - name)))
            continue;
        for (int i = 0; i < 7; i++)
            fields[i] = strtoull(at, &at, 10);
        sums[0] += fields[0];
        sums[1] += fields[2];
        sums[2] += fields[4];
        sums[3] += fields[6];
    }
    put(s, METRIC_MACHINE_READS, sums[0]);
    put(s, METRIC_MACHINE_WRITES, sums[2]);
    put(s, METRIC_MACHINE_READ_BYTES, sums[1] * SECTOR);
    put(s, METRIC_MACHINE_WRITE_BYTES, sums[3] * SECTOR);
}

void machine_read(struct machine *m, bool details, struct machine_sample *out)
{
    out->count = 0;
    out->used = ABSENT;
    read_memory(kept_of(m), out);
    if (!details)
        return;
    read_cpu(kept_of(m), out);
    read_disks(kept_of(m), out);
}

uint64_t machine_oom_kills(struct machine *m)
{
    char text[16384];
    const char *s;

    if (!read_kept(&kept_of(m)->vmstat, "/proc/vmstat", text, sizeof(text)))
        return ABSENT;
    s = strstr(text, "\noom_kill ");
    return s ? strtoull(s + 10, NULL, 10) : ABSENT;
}

void machine_close(struct machine *m)
{
    const struct machine_kept *k = m->kept;

    if (k) {
        const int kept[] = {k->meminfo, k->stat, k->diskstats, k->vmstat};

        for (int i = 0; i < COUNT(kept); i++)
            if (kept[i] > 0)
                close(kept[i]);
    }
    free(m->kept);
    *m = (struct machine){0};
}
