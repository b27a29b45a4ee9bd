/* fdinfo - what the kernel says of a client of a DRM driver, in /proc/PID/fdinfo/N: pure functions
 * over its text. See the kernel's drm-usage-stats.
 */
#ifndef GAUGES_FDINFO_H
#define GAUGES_FDINFO_H

#include <stdbool.h>
#include <stdint.h>

#define FDINFO_REGIONS 16
#define FDINFO_NAME 32

struct fdinfo_region {
    char name[FDINFO_NAME];
    uint64_t resident, memory, total, shared; /* bytes; ABSENT */
};

struct fdinfo {
    char driver[FDINFO_NAME], pdev[FDINFO_NAME];
    uint64_t client;               /* ABSENT: the driver does not number them */
    uint64_t engine_ns;            /* time of all its engines for this client; ABSENT */
    uint64_t cycles, total_cycles; /* the same in clocks, where a driver counts these */
    struct fdinfo_region region[FDINFO_REGIONS];
    int regions;
};

/* False: it is no client of a DRM driver. */
bool fdinfo_parse(struct fdinfo *f, const char *text);

/* Memory of the device that it holds; of a device without memory of its own, what it holds of the
 * host's. ABSENT: the driver does not say. `shared`: the part of it that other clients hold, too.
 */
uint64_t fdinfo_used(const struct fdinfo *f, uint64_t *shared);

#endif
