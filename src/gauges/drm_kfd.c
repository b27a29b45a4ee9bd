/* drm_kfd - see drm.h. AMD's compute driver says what each of its processes holds; a file of the
 * DRM driver that the same process has open may say the same, so the larger of both counts.
 */
#include "gauges/drm.h"
#include "gauges/sysfs.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KFD "sys/class/kfd/kfd"
#define KFD_PROCESSES "sys/class/kfd/kfd/proc"
#define NODES_MOST 128

/* A node of the topology names its PCI device by numbers. */
static void join(struct drm *d, uint64_t gpu, uint64_t domain, uint64_t location)
{
    char bus[32];

    snprintf(bus, sizeof(bus), "%04x:%02x:%02x.%x", (unsigned int)(domain & 0xffffffff),
             (unsigned int)(location >> 8 & 0xff), (unsigned int)(location >> 3 & 0x1f),
             (unsigned int)(location & 7));
    for (uint32_t i = 0; i < d->count; i++)
        if (!strcmp(d->device[i].bus, bus))
            d->device[i].gpu = gpu;
}

void drm_kfd_open(struct drm *d)
{
    char text[8192];

    for (int node = 0; node < NODES_MOST; node++) {
        uint64_t gpu = gauge_number(KFD "/topology/nodes/%d/gpu_id", node), location, domain;

        if (gpu == ABSENT)
            return;
        if (!gpu || !gauge_read(text, sizeof(text), KFD "/topology/nodes/%d/properties", node))
            continue;
        location = sysfs_property(text, "location_id");
        domain = sysfs_property(text, "domain");
        if (location != ABSENT)
            join(d, gpu, domain == ABSENT ? 0 : domain, location);
    }
}

static void read_process(const struct drm *d, int32_t pid, struct gauge_answer *out)
{
    for (uint32_t i = 0; i < d->count; i++) {
        uint64_t held = d->device[i].gpu == ABSENT
                          ? ABSENT
                          : gauge_number(KFD_PROCESSES "/%d/vram_%llu", pid,
                                         (unsigned long long)d->device[i].gpu);
        struct wire_use *u = held == ABSENT ? NULL : gauge_use(out, i, pid);

        if (u && (u->used == ABSENT || u->used < held))
            u->used = held;
    }
}

void drm_kfd_read(const struct drm *d, const struct gauge_asked *asked, struct gauge_answer *out)
{
    struct dirent *entry;
    char path[4096];
    DIR *folder = gauge_path(path, sizeof(path), KFD_PROCESSES) ? opendir(path) : NULL;

    while (folder && (entry = readdir(folder)))
        if (gauge_is_asked(asked, atoi(entry->d_name)))
            read_process(d, atoi(entry->d_name), out);
    if (folder)
        closedir(folder);
}
