/* device_cuda - the CUDA driver: whatever allocates on such a device comes down to it, libcudart
 * and all frameworks included.
 *
 * Physical memory (cuMemCreate) lives until it is released and mapped nowhere; reserving and
 * mapping addresses is no new memory. Registering memory of the host is none, either, nor is
 * opening that of another process. What a context has goes with it.
 */
#include "inject/device.h"
#include "inject/device_arrays.h"

#include <string.h>

enum { POINTER, HOST, PHYSICAL, ARRAY, MIPMAP }; /* classes of handles */

enum { KERNEL = 3, POINTER_ASKED }; /* helpers */

#define PRIMARIES 64

static _Atomic uint64_t primaries[PRIMARIES]; /* contexts that devices have by themselves */

/* ---- bytes ---- */

static uint64_t pitch_bytes(const uintptr_t *a, bool done)
{
    return (done ? *(const size_t *)a[1] : a[2]) * a[3];
}

/* ---- places ---- */

/* CUmemAllocationProp: a type, handles, and the location: its type (1: a device) and number. */
static void physical_place(struct device_library *l, const uintptr_t *a, uint8_t *kind,
                           uint32_t *device, char *text)
{
    const struct {
        uint32_t type, handles, location, number;
    } *p = (const void *)a[2];

    (void)l, (void)text;
    *kind = p->location == 1 ? RING_SPACE_ON_DEVICE : RING_SPACE_PINNED;
    *device = p->number;
}

/* A pool, and so a block of it, may be of another device than the current one. */
static bool pooled_on(struct device_library *l, uint64_t handle, uint32_t *device)
{
    return device_of_pointer(l->helpers[POINTER_ASKED], handle, device);
}

/* ---- contexts ---- */

static bool note_primary(struct device_library *l, const uintptr_t *a, uint64_t *owner)
{
    (void)l, (void)owner;
    if ((uint32_t)a[1] < PRIMARIES)
        primaries[(uint32_t)a[1]] = *(const uint64_t *)a[0];
    return false;
}

static bool primary_reset(struct device_library *l, const uintptr_t *a, uint64_t *owner)
{
    (void)l;
    *owner = (uint32_t)a[0] < PRIMARIES ? primaries[(uint32_t)a[0]] : 0;
    return *owner;
}

/* Whoever gives it back last ends it; the driver knows. */
static bool primary_released(struct device_library *l, const uintptr_t *a, uint64_t *owner)
{
    int (*state)(int, unsigned int *,
                 int *) = (int (*)(int, unsigned int *, int *))l->helpers[DEVICE_ASKED];
    unsigned int flags;
    int active = 1;

    if (!state || state((int)a[0], &flags, &active) != 0 || active)
        return false;
    return primary_reset(l, a, owner);
}

/* ---- launches ---- */

/* Since CUDA 12.3 the driver says it. */
static void kernel_name(struct device_library *l, uintptr_t kernel, char *name, size_t room)
{
    int (*ask)(const char **, uintptr_t) = (int (*)(const char **, uintptr_t))l->helpers[KERNEL];
    const char *text = NULL;

    if (ask && ask(&text, kernel) == 0 && text)
        memcpy(name, text, strnlen(text, room));
}

// clang-format off
#define ALLOC(call, ...) {.name = call, .does = DEVICE_ALLOCATES, __VA_ARGS__}
#define FREE(call, ...) {.name = call, .does = DEVICE_FREES, __VA_ARGS__}

static const struct device_call calls[] = {
    ALLOC("cuMemAlloc_v2", .size = 1, .since = 3020),
    ALLOC("cuMemAllocPitch_v2", .bytes = pitch_bytes, .since = 3020),
    ALLOC("cuMemAllocManaged", .size = 1, .kind = RING_SPACE_SHARED),
    ALLOC("cuMemAllocAsync", .size = 1, .on = pooled_on),
    ALLOC("cuMemAllocAsync_ptsz", .size = 1, .on = pooled_on),
    ALLOC("cuMemAllocFromPoolAsync", .size = 1, .on = pooled_on),
    ALLOC("cuMemAllocFromPoolAsync_ptsz", .size = 1, .on = pooled_on),
    FREE("cuMemFree_v2", .since = 3020),
    FREE("cuMemFreeAsync"),
    FREE("cuMemFreeAsync_ptsz"),
    ALLOC("cuMemHostAlloc", .size = 1, .class = HOST, .kind = RING_SPACE_PINNED),
    ALLOC("cuMemAllocHost_v2", .size = 1, .class = HOST, .kind = RING_SPACE_PINNED, .since = 3020),
    FREE("cuMemFreeHost", .class = HOST),
    ALLOC("cuMemCreate", .size = 1, .class = PHYSICAL, .place = physical_place, .owner = -1),
    FREE("cuMemRelease", .class = PHYSICAL),
    {.name = "cuMemRetainAllocationHandle", .does = DEVICE_HOLDS, .class = PHYSICAL},
    {.name = "cuMemMap", .does = DEVICE_MAPS, .class = PHYSICAL, .handle = 3, .at = 0, .size = 1},
    {.name = "cuMemUnmap", .does = DEVICE_UNMAPS, .class = PHYSICAL, .at = 0, .size = 1},
    ALLOC("cuArrayCreate_v2", .bytes = device_array_bytes, .class = ARRAY, .since = 3020),
    ALLOC("cuArray3DCreate_v2", .bytes = device_array3_bytes, .class = ARRAY, .since = 3020),
    FREE("cuArrayDestroy", .class = ARRAY),
    ALLOC("cuMipmappedArrayCreate", .bytes = device_mipmap_bytes, .class = MIPMAP),
    FREE("cuMipmappedArrayDestroy", .class = MIPMAP),
    {.name = "cuCtxDestroy", .does = DEVICE_ENDS, .owner = 1},
    {.name = "cuCtxDestroy_v2", .does = DEVICE_ENDS, .owner = 1, .since = 4000},
    {.name = "cuDevicePrimaryCtxRetain", .does = DEVICE_TELLS, .ended = note_primary},
    {.name = "cuDevicePrimaryCtxReset", .does = DEVICE_TELLS, .ended = primary_reset},
    {.name = "cuDevicePrimaryCtxReset_v2", .does = DEVICE_TELLS, .ended = primary_reset, .since = 11000},
    {.name = "cuDevicePrimaryCtxRelease", .does = DEVICE_TELLS, .ended = primary_released},
    {.name = "cuDevicePrimaryCtxRelease_v2", .does = DEVICE_TELLS, .ended = primary_released, .since = 11000},
    {.name = "cuGetProcAddress", .does = DEVICE_FINDS, .at = 1, .size = 2},
    {.name = "cuGetProcAddress_v2", .does = DEVICE_FINDS, .at = 1, .size = 2, .since = 12000},
    {.name = "cuLaunchKernel", .does = DEVICE_LAUNCHES, .named = kernel_name},
    {.name = "cuLaunchKernel_ptsz", .does = DEVICE_LAUNCHES, .named = kernel_name},
    {.name = "cuLaunchKernelEx", .does = DEVICE_LAUNCHES, .handle = 1, .named = kernel_name},
    {.name = "cuLaunchKernelEx_ptsz", .does = DEVICE_LAUNCHES, .handle = 1, .named = kernel_name},
    {.name = "cuLaunchCooperativeKernel", .does = DEVICE_LAUNCHES, .named = kernel_name},
    {.name = "cuLaunchCooperativeKernel_ptsz", .does = DEVICE_LAUNCHES, .named = kernel_name},
    {.name = "cuGraphLaunch", .does = DEVICE_LAUNCHES},
    {.name = "cuGraphLaunch_ptsz", .does = DEVICE_LAUNCHES},
};
// clang-format on

static const char *const files[] = {"libcuda.so", NULL};

const struct device_vendor device_cuda = {
    .files = files,
    .device = "cuda",
    .pinned = "cuda-host",
    .shared = "cuda-managed",
    .calls = calls,
    .count = sizeof(calls) / sizeof(calls[0]),
    .helpers = {"cuCtxGetDevice", "cuCtxGetCurrent", "cuDevicePrimaryCtxGetState", "cuFuncGetName",
                "cuPointerGetAttribute"},
    .number = 0,
};
