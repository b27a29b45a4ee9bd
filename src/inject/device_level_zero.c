/* device_level_zero - oneAPI's Level Zero. Devices are handles there: they are numbered in the
 * order in which a program first allocates on them.
 */
#include "inject/device.h"
#include "inject/device_arrays.h"

#include <stdatomic.h>

enum { POINTER, PHYSICAL, IMAGE }; /* classes of handles */

enum { KERNEL = DEVICE_ASKED, BUS }; /* helpers */

#define DEVICES 64

static _Atomic uintptr_t seen[DEVICES];

static uint32_t number_of(uintptr_t handle)
{
    uint32_t i = 0;

    for (; i + 1 < DEVICES; i++) {
        uintptr_t there = 0;

        if (atomic_load(&seen[i]) == handle ||
            atomic_compare_exchange_strong(&seen[i], &there, handle) || there == handle)
            break;
    }
    return i;
}

static void device_place(struct device_library *l, const uintptr_t *a, uint8_t *kind,
                         uint32_t *device, char *text)
{
    (void)l, (void)kind, (void)text;
    *device = number_of(a[4]);
}

static void second_place(struct device_library *l, const uintptr_t *a, uint8_t *kind,
                         uint32_t *device, char *text)
{
    (void)l, (void)kind, (void)text;
    *device = number_of(a[1]);
}

/* ze_physical_mem_desc_t: its type, what is chained to it, flags, bytes. */
static uint64_t physical_bytes(const uintptr_t *a, bool done)
{
    const struct {
        uint32_t type;
        const void *next;
        uint32_t flags;
        size_t bytes;
    } *d = (const void *)a[2];

    (void)done;
    return d->bytes;
}

/* ze_image_format_layout_t. Others (those of videos) are taken for a byte: less than it is, rather
 * than more. */
static uint64_t layout_bytes(uint32_t layout)
{
    static const uint8_t bytes[] = {1, 2, 4, 2, 4, 4, 8, 8, 16, 4, 4, 2, 2, 2};

    return layout < sizeof(bytes) ? bytes[layout] : 1;
}

/* ze_image_desc_t. Of its sizes those count that its type has: in one or two dimensions, each also
 * as an array of such, in three, or a buffer.
 */
static uint64_t image_bytes(const uintptr_t *a, bool done)
{
    enum { LINES = 1, FLAT, FLATS, CUBE };
    const struct {
        uint32_t stype;
        const void *next;
        uint32_t flags, type, layout, channels[5];
        uint64_t width;
        uint32_t height, depth, levels;
    } *d = (const void *)a[2];
    uint64_t bytes = layout_bytes(d->layout) * d->width;

    (void)done;
    if (d->type >= FLAT && d->type <= CUBE)
        bytes *= d->height;
    if (d->type == CUBE)
        bytes *= d->depth;
    return d->type == LINES || d->type == FLATS ? bytes * d->levels : bytes;
}

/* ze_pci_ext_properties_t: its type, what is chained to it, domain, bus, device, function, and its
 * speed. */
static bool bus_of(struct device_library *l, uint32_t device, char bus[DEVICE_BUS])
{
    struct {
        uint32_t type;
        void *next;
        uint32_t at[4];
        int64_t speed[3];
    } pci = {.type = 0x10008};
    int (*ask)(uintptr_t, void *) = (int (*)(uintptr_t, void *))l->helpers[BUS];

    if (!ask || device >= DEVICES || ask(atomic_load(&seen[device]), &pci) != 0)
        return false;
    device_bus_text(bus, pci.at);
    return true;
}

static void kernel_name(struct device_library *l, uintptr_t kernel, char *name, size_t room)
{
    int (*ask)(uintptr_t, size_t *,
               char *) = (int (*)(uintptr_t, size_t *, char *))l->helpers[KERNEL];

    if (ask && ask(kernel, &room, name) != 0)
        name[0] = '\0';
}

// clang-format off
static const struct device_call calls[] = {
    {.name = "zeMemAllocDevice", .does = DEVICE_ALLOCATES, .size = 2, .handle = 5, .owner = 1,
     .place = device_place},
    {.name = "zeMemAllocShared", .does = DEVICE_ALLOCATES, .size = 3, .handle = 6, .owner = 1,
     .kind = RING_SPACE_SHARED},
    {.name = "zeMemAllocHost", .does = DEVICE_ALLOCATES, .size = 2, .handle = 4, .owner = 1,
     .kind = RING_SPACE_PINNED},
    {.name = "zeMemFree", .does = DEVICE_FREES, .handle = 1},
    {.name = "zeMemFreeExt", .does = DEVICE_FREES, .handle = 2},
    {.name = "zePhysicalMemCreate", .does = DEVICE_ALLOCATES, .class = PHYSICAL, .handle = 3,
     .owner = 1, .bytes = physical_bytes, .place = second_place},
    {.name = "zePhysicalMemDestroy", .does = DEVICE_FREES, .class = PHYSICAL, .handle = 1},
    {.name = "zeImageCreate", .does = DEVICE_ALLOCATES, .class = IMAGE, .handle = 3, .owner = 1,
     .bytes = image_bytes, .place = second_place},
    {.name = "zeImageDestroy", .does = DEVICE_FREES, .class = IMAGE},
    {.name = "zeContextDestroy", .does = DEVICE_ENDS, .owner = 1},
    {.name = "zeDriverGetExtensionFunctionAddress", .does = DEVICE_FINDS, .handle = 1, .at = 2},
    {.name = "zeCommandListAppendLaunchKernel", .does = DEVICE_LAUNCHES, .handle = 1,
     .named = kernel_name},
    {.name = "zeCommandListAppendLaunchCooperativeKernel", .does = DEVICE_LAUNCHES, .handle = 1,
     .named = kernel_name},
};
// clang-format on

static const char *const files[] = {"libze_loader.so", NULL};

const struct device_vendor device_level_zero = {
    .files = files,
    .device = "level-zero",
    .pinned = "level-zero-host",
    .shared = "level-zero-shared",
    .calls = calls,
    .count = sizeof(calls) / sizeof(calls[0]),
    .helpers = {NULL, NULL, "zeKernelGetName", "zeDevicePciGetPropertiesExt"},
    .bus = bus_of,
    .number = 2,
};
