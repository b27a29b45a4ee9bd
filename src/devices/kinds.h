/* kinds - the kinds of devices that are known: one row each. What reads one is
 * src/gauges/gauge_NAME.c, which runs in a process of its own, since a vendor's library may hang,
 * crash or print.
 */
#ifndef DEVICES_KINDS_H
#define DEVICES_KINDS_H

#include <stdbool.h>
#include <stddef.h>

struct device_kind {
    const char *name;    /* as in --device NAME:0 */
    const char *vendor;  /* whose devices these are */
    const char *way;     /* by what they are read, in a few words */
    const char *library; /* that has to be loaded for it; NULL: the kernel's files are enough */
    bool accelerator;    /* --gpu-id may mean it */
    /* Files that are there where such a device may be, without their leading slash; ends with NULL.
     */
    const char *const *signs;
};

/* Where distributions put the libraries that come with a driver. */
#define DEVICE_LIBRARY(name)                                                                       \
    "usr/lib64/" name, "usr/lib/x86_64-linux-gnu/" name, "usr/lib/aarch64-linux-gnu/" name,        \
        "usr/lib/" name

/* In the order in which they are listed, and in which --gpu-id looks for the first: the name, by
 * which program it is read (LIBRARY: tidemark-devices, FILES: the tool under that name), and the
 * fields of a device_kind.
 */
/* clang-format off: a row each */
#define DEVICE_KINDS(X)                                                                            \
    X(nvidia, LIBRARY, "NVIDIA", "NVML", "libnvidia-ml.so.1", true, "dev/nvidiactl",               \
      "dev/nvidia0", "dev/dxg", DEVICE_LIBRARY("libnvidia-ml.so.1"))                               \
    X(ascend, LIBRARY, "Huawei", "DCMI", "libdcmi.so", true, "dev/davinci_manager",                \
      "dev/davinci0", "usr/local/dcmi/libdcmi.so", DEVICE_LIBRARY("libdcmi.so"))                   \
    X(drm, FILES, "AMD, Intel and others", "DRM fdinfo and sysfs", NULL, true, "dev/dri",          \
      "dev/accel", "sys/class/kfd/kfd")                                                            \
    X(sysman, LIBRARY, "Intel and others with Level Zero", "Level Zero Sysman",                    \
      "libze_loader.so.1", true, DEVICE_LIBRARY("libze_loader.so.1"))                              \
    X(dmem, FILES, "any", "the dmem controller of control groups", NULL, false,                    \
      "sys/fs/cgroup/dmem.capacity")
/* clang-format on */

enum device_kind_number {
#define X(name, ...) DEVICE_KIND_##name,
    DEVICE_KINDS(X)
#undef X
        DEVICE_KIND_COUNT
};

extern const struct device_kind device_kinds[DEVICE_KIND_COUNT];

/* The kind whose name is the first `length` bytes of a text; NULL: none. */
const struct device_kind *device_kind_find(const char *name, size_t length);
/* All names, separated by `between`. */
const char *device_kind_names(char *out, size_t room, const char *between);

/* Below which folder the files of the kernel are: "", or TIDEMARK_DEVICE_ROOT, where a container
 * has the host's elsewhere.
 */
const char *device_root(void);

/* Whether there is a sign of such a device. Opens nothing, so that no device is woken. */
bool device_kind_likely(const struct device_kind *k);

#endif
