/* kinds - see kinds.h. */
#include "devices/kinds.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where distributions put the libraries that come with a driver. */
#define LIBRARIES(name)                                                                            \
    "usr/lib64/" name, "usr/lib/x86_64-linux-gnu/" name, "usr/lib/aarch64-linux-gnu/" name,        \
        "usr/lib/" name

static const char *const nvidia_signs[] = {"dev/nvidiactl", "dev/nvidia0", "dev/dxg",
                                           LIBRARIES("libnvidia-ml.so.1"), NULL};
static const char *const ascend_signs[] = {"dev/davinci_manager", "dev/davinci0",
                                           "usr/local/dcmi/libdcmi.so", LIBRARIES("libdcmi.so"),
                                           NULL};
static const char *const drm_signs[] = {"dev/dri", "dev/accel", "sys/class/kfd/kfd", NULL};
static const char *const sysman_signs[] = {LIBRARIES("libze_loader.so.1"), NULL};
static const char *const dmem_signs[] = {"sys/fs/cgroup/dmem.capacity", NULL};

const struct device_kind device_kinds[DEVICE_KIND_COUNT] = {
    [DEVICE_KIND_nvidia] = {"nvidia", "NVIDIA", "NVML", "libnvidia-ml.so.1", true, nvidia_signs},
    [DEVICE_KIND_ascend] = {"ascend", "Huawei", "DCMI", "libdcmi.so", true, ascend_signs},
    [DEVICE_KIND_drm] = {"drm", "AMD, Intel and others", "DRM fdinfo and sysfs", NULL, true,
                         drm_signs},
    [DEVICE_KIND_sysman] = {"sysman", "Intel and others with Level Zero", "Level Zero Sysman",
                            "libze_loader.so.1", true, sysman_signs},
    [DEVICE_KIND_dmem] = {"dmem", "any", "the dmem controller of control groups", NULL, false,
                          dmem_signs},
};

const struct device_kind *device_kind_find(const char *name, size_t length)
{
    for (int i = 0; i < DEVICE_KIND_COUNT; i++)
        if (strlen(device_kinds[i].name) == length && !memcmp(device_kinds[i].name, name, length))
            return &device_kinds[i];
    return NULL;
}

const char *device_kind_names(char *out, size_t room, const char *between)
{
    size_t used = 0;

    out[0] = '\0';
    for (int i = 0; i < DEVICE_KIND_COUNT && used < room; i++)
        used += (size_t)snprintf(out + used, room - used, "%s%s", i ? between : "",
                                 device_kinds[i].name);
    return out;
}

const char *device_root(void)
{
    const char *root = getenv("TIDEMARK_DEVICE_ROOT");

    return root ? root : "";
}

static bool is_there(const char *folder, size_t length, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%.*s/%s", (int)length, folder, name);

    return n > 0 && n < PATH_MAX && access(path, F_OK) == 0;
}

/* The loader looks into these folders first. */
static bool is_in_library_path(const char *library)
{
    const char *s = getenv("LD_LIBRARY_PATH");

    while (s && *s) {
        size_t length = strcspn(s, ":;");

        if (length && is_there(s, length, library))
            return true;
        s += length + (s[length] != '\0');
    }
    return false;
}

bool device_kind_likely(const struct device_kind *k)
{
    const char *root = device_root();

    for (const char *const *sign = k->signs; *sign; sign++)
        if (is_there(root, strlen(root), *sign))
            return true;
    return k->library && is_in_library_path(k->library);
}
