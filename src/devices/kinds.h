/* kinds - the kinds of devices that are known: one row each. What reads one is src/gauges/gauge_NAME.c,
 * which runs in a process of its own, since a vendor's library may hang, crash or print.
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
    /* Files that are there where such a device may be, without their leading slash; ends with NULL. */
    const char *const *signs;
};

/* In the order in which they are listed, and in which --gpu-id looks for the first. */
#define DEVICE_KINDS(X)                                                                            \
    X(nvidia)                                                                                      \
    X(ascend)                                                                                      \
    X(drm)                                                                                         \
    X(sysman)                                                                                      \
    X(dmem)

enum device_kind_number {
#define X(name) DEVICE_KIND_##name,
    DEVICE_KINDS(X)
#undef X
        DEVICE_KIND_COUNT
};

extern const struct device_kind device_kinds[DEVICE_KIND_COUNT];

/* The kind whose name is the first `length` bytes of a text; NULL: none. */
const struct device_kind *device_kind_find(const char *name, size_t length);
/* All names, separated by `between`. */
const char *device_kind_names(char *out, size_t room, const char *between);

/* Below which folder the files of the kernel are: "", or TIDEMARK_DEVICE_ROOT, where a container has the
 * host's elsewhere.
 */
const char *device_root(void);

/* Whether there is a sign of such a device. Opens nothing, so that no device is woken. */
bool device_kind_likely(const struct device_kind *k);

#endif
