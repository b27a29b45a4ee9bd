/* drm - what the files of the DRM gauge share: gauge_drm.c (the devices, by sysfs), drm_clients.c
 * (what processes hold, by fdinfo), drm_kfd.c (the same of AMD's compute driver).
 */
#ifndef GAUGES_DRM_H
#define GAUGES_DRM_H

#include "gauges/gauge.h"

struct drm_device {
    char folder[64];          /* below the root: "sys/class/drm/card0/device" */
    char driver[32], bus[32]; /* bus "": it is on none that has names */
    uint64_t gpu;             /* as AMD's compute driver numbers it; ABSENT */
    int used, busy;           /* kept descriptors of its files; -1: it has none */
    uint64_t total;
};

struct drm {
    struct drm_device device[WIRE_DEVICES_MOST];
    uint32_t count;
};

/* The device that a client's words are about; `count` where it is none of these. */
uint32_t drm_find(const struct drm *d, const char *driver, const char *bus);

/* Add what processes hold; false: not all of them could be looked at. */
bool drm_clients_read(const struct drm *d, const struct gauge_asked *asked,
                      struct gauge_answer *out);

/* Learn which device is which; then the same. */
void drm_kfd_open(struct drm *d);
void drm_kfd_read(const struct drm *d, const struct gauge_asked *asked, struct gauge_answer *out);

#endif
