/* device_hip - AMD's HIP. What hipDeviceReset ends is all that the device has. */
#include "inject/device.h"

enum { POINTER, HOST, PHYSICAL, ARRAY }; /* classes of handles */
enum { ON_DEVICE, PINNED, MANAGED };     /* kinds of spaces */

static uint64_t pitch_bytes(const uintptr_t *a, bool done)
{
    return (done ? *(const size_t *)a[1] : a[2]) * a[3];
}

/* hipChannelFormatDesc: bits of four channels. */
static uint64_t array_bytes(const uintptr_t *a, bool done)
{
    const int *bits = (const int *)a[1];
    uint64_t all = (uint64_t)bits[0] + (uint64_t)bits[1] + (uint64_t)bits[2] + (uint64_t)bits[3];

    (void)done;
    return all / 8 * a[2] * (a[3] ? a[3] : 1);
}

/* hipMemAllocationProp: a type, handles, and the location: its type (1: a device) and number. */
static void physical_place(struct device_library *l, const uintptr_t *a, uint8_t *kind,
                           uint32_t *device, char *text)
{
    const struct {
        uint32_t type, handles, location, number;
    } *p = (const void *)a[2];

    (void)l, (void)text;
    *kind = p->location == 1 ? ON_DEVICE : PINNED;
    *device = p->number;
}

// clang-format off
#define ALLOC(call, ...) {.name = call, .does = DEVICE_ALLOCATES, __VA_ARGS__}
#define FREE(call, ...) {.name = call, .does = DEVICE_FREES, __VA_ARGS__}

static const struct device_call calls[] = {
    ALLOC("hipMalloc", .size = 1),
    ALLOC("hipExtMallocWithFlags", .size = 1),
    ALLOC("hipMallocPitch", .bytes = pitch_bytes),
    ALLOC("hipMemAllocPitch", .bytes = pitch_bytes),
    ALLOC("hipMallocManaged", .size = 1, .kind = MANAGED),
    ALLOC("hipMallocAsync", .size = 1),
    ALLOC("hipMallocFromPoolAsync", .size = 1),
    FREE("hipFree"),
    FREE("hipFreeAsync"),
    ALLOC("hipHostMalloc", .size = 1, .class = HOST, .kind = PINNED),
    ALLOC("hipHostAlloc", .size = 1, .class = HOST, .kind = PINNED),
    ALLOC("hipMallocHost", .size = 1, .class = HOST, .kind = PINNED),
    ALLOC("hipMemAllocHost", .size = 1, .class = HOST, .kind = PINNED),
    FREE("hipHostFree", .class = HOST),
    FREE("hipFreeHost", .class = HOST),
    ALLOC("hipMemCreate", .size = 1, .class = PHYSICAL, .place = physical_place, .owner = -1),
    FREE("hipMemRelease", .class = PHYSICAL),
    {.name = "hipMemRetainAllocationHandle", .does = DEVICE_HOLDS, .class = PHYSICAL},
    {.name = "hipMemMap", .does = DEVICE_MAPS, .class = PHYSICAL, .handle = 3, .at = 0, .size = 1},
    {.name = "hipMemUnmap", .does = DEVICE_UNMAPS, .class = PHYSICAL, .at = 0, .size = 1},
    ALLOC("hipMallocArray", .bytes = array_bytes, .class = ARRAY),
    FREE("hipFreeArray", .class = ARRAY),
    FREE("hipArrayDestroy", .class = ARRAY),
    {.name = "hipDeviceReset", .does = DEVICE_ENDS},
    {.name = "hipGetProcAddress", .does = DEVICE_FINDS, .at = 1, .size = 2},
    {.name = "hipLaunchKernel", .does = DEVICE_LAUNCHES},
    {.name = "hipModuleLaunchKernel", .does = DEVICE_LAUNCHES},
    {.name = "hipExtModuleLaunchKernel", .does = DEVICE_LAUNCHES},
    {.name = "hipGraphLaunch", .does = DEVICE_LAUNCHES},
};
// clang-format on

static const char *const files[] = {"libamdhip64.so", NULL};

const struct device_vendor device_hip = {
    .files = files,
    .device = "hip",
    .pinned = "hip-host",
    .shared = "hip-managed",
    .calls = calls,
    .count = sizeof(calls) / sizeof(calls[0]),
    .helpers = {"hipGetDevice"},
    .by_device = true,
    .number = 1,
};
