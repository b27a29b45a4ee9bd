/* device_hip - AMD's HIP. What hipDeviceReset ends is all that the device has. */
#include "inject/device.h"

#include "arch/arch.h"
#include "inject/device_arrays.h"

#include <string.h>

enum { POINTER, HOST, PHYSICAL, ARRAY, MIPMAP }; /* classes of handles */

enum { POINTER_ASKED = DEVICE_ASKED, NAME, NAME_BY_HOST, BUS }; /* helpers */

static uint64_t pitch_bytes(const uintptr_t *a, bool done)
{
    return (done ? *(const size_t *)a[1] : a[2]) * a[3];
}

/* hipChannelFormatDesc: bits of four channels. */
static uint64_t channel_bytes(uintptr_t descriptor)
{
    const int *bits = (const int *)descriptor;

    return ((uint64_t)bits[0] + (uint64_t)bits[1] + (uint64_t)bits[2] + (uint64_t)bits[3]) / 8;
}

static uint64_t at_least_one(uint64_t n)
{
    return n ? n : 1;
}

static uint64_t array_bytes(const uintptr_t *a, bool done)
{
    (void)done;
    return channel_bytes(a[1]) * a[2] * at_least_one(a[3]);
}

/* hipExtent (width, height, depth) by value: among the words on the stack, or its address is the
 * argument. */
static const uintptr_t *extent_of(const uintptr_t *a, int argument)
{
    return ARCH_STRUCT_WORD ? a + ARCH_STRUCT_WORD : (const uintptr_t *)a[argument];
}

/* The rows of hipPitchedPtr (pointer, pitch ...) are longer than was asked for. */
static uint64_t malloc3_bytes(const uintptr_t *a, bool done)
{
    const uintptr_t *extent = extent_of(a, 1);

    return (done ? ((const uintptr_t *)a[0])[1] : extent[0]) * extent[1] * extent[2];
}

static uint64_t array3_bytes(const uintptr_t *a, bool done)
{
    const uintptr_t *extent = extent_of(a, 2);

    (void)done;
    return channel_bytes(a[1]) * extent[0] * at_least_one(extent[1]) * at_least_one(extent[2]);
}

static uint64_t mipmap_bytes(const uintptr_t *a, bool done)
{
    const uintptr_t *extent = extent_of(a, 2);
    uint64_t width = extent[0], height = extent[1], depth = extent[2], sum = 0;
    unsigned int levels = (unsigned int)a[ARCH_STRUCT_WORD ? 2 : 3];

    (void)done;
    for (unsigned int i = 0; i < levels && i < 32; i++) {
        sum += channel_bytes(a[1]) * width * at_least_one(height) * at_least_one(depth);
        width = at_least_one(width / 2);
        height /= 2;
        depth /= 2;
    }
    return sum;
}

/* hipMemAllocationProp: a type, handles, and the location: its type (1: a device) and number. */
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

static bool bus_of(struct device_library *l, uint32_t device, char bus[DEVICE_BUS])
{
    int (*ask)(char *, int, int) = (int (*)(char *, int, int))l->helpers[BUS];

    return ask && ask(bus, DEVICE_BUS - 1, (int)device) == 0;
}

/* ---- launches ---- */

static void copy_name(char *name, const char *text, size_t room)
{
    if (text)
        memcpy(name, text, strnlen(text, room));
}

/* hipFunction_t */
static void function_name(struct device_library *l, uintptr_t kernel, char *name, size_t room)
{
    const char *(*ask)(uintptr_t) = (const char *(*)(uintptr_t))l->helpers[NAME];

    copy_name(name, ask ? ask(kernel) : NULL, room);
}

/* What the compiler has put into the program for it. */
static void host_name(struct device_library *l, uintptr_t kernel, char *name, size_t room)
{
    const char *(*ask)(uintptr_t,
                       void *) = (const char *(*)(uintptr_t, void *))l->helpers[NAME_BY_HOST];

    copy_name(name, ask ? ask(kernel, NULL) : NULL, room);
}

// clang-format off
#define ALLOC(call, ...) {.name = call, .does = DEVICE_ALLOCATES, __VA_ARGS__}
#define FREE(call, ...) {.name = call, .does = DEVICE_FREES, __VA_ARGS__}

static const struct device_call calls[] = {
    ALLOC("hipMalloc", .size = 1),
    ALLOC("hipExtMallocWithFlags", .size = 1),
    ALLOC("hipMallocPitch", .bytes = pitch_bytes),
    ALLOC("hipMemAllocPitch", .bytes = pitch_bytes),
    ALLOC("hipMallocManaged", .size = 1, .kind = RING_SPACE_SHARED),
    ALLOC("hipMallocAsync", .size = 1, .on = pooled_on),
    ALLOC("hipMallocFromPoolAsync", .size = 1, .on = pooled_on),
    ALLOC("hipMalloc3D", .bytes = malloc3_bytes),
    FREE("hipFree"),
    FREE("hipFreeAsync"),
    ALLOC("hipHostMalloc", .size = 1, .class = HOST, .kind = RING_SPACE_PINNED),
    ALLOC("hipHostAlloc", .size = 1, .class = HOST, .kind = RING_SPACE_PINNED),
    ALLOC("hipMallocHost", .size = 1, .class = HOST, .kind = RING_SPACE_PINNED),
    ALLOC("hipMemAllocHost", .size = 1, .class = HOST, .kind = RING_SPACE_PINNED),
    FREE("hipHostFree", .class = HOST),
    FREE("hipFreeHost", .class = HOST),
    ALLOC("hipMemCreate", .size = 1, .class = PHYSICAL, .place = physical_place, .owner = -1),
    FREE("hipMemRelease", .class = PHYSICAL),
    {.name = "hipMemRetainAllocationHandle", .does = DEVICE_HOLDS, .class = PHYSICAL},
    {.name = "hipMemMap", .does = DEVICE_MAPS, .class = PHYSICAL, .handle = 3, .at = 0, .size = 1},
    {.name = "hipMemUnmap", .does = DEVICE_UNMAPS, .class = PHYSICAL, .at = 0, .size = 1},
    ALLOC("hipMallocArray", .bytes = array_bytes, .class = ARRAY),
    ALLOC("hipMalloc3DArray", .bytes = array3_bytes, .class = ARRAY),
    ALLOC("hipArrayCreate", .bytes = device_array_bytes, .class = ARRAY),
    ALLOC("hipArray3DCreate", .bytes = device_array3_bytes, .class = ARRAY),
    FREE("hipFreeArray", .class = ARRAY),
    FREE("hipArrayDestroy", .class = ARRAY),
    ALLOC("hipMallocMipmappedArray", .bytes = mipmap_bytes, .class = MIPMAP),
    ALLOC("hipMipmappedArrayCreate", .bytes = device_mipmap_bytes, .class = MIPMAP),
    FREE("hipFreeMipmappedArray", .class = MIPMAP),
    FREE("hipMipmappedArrayDestroy", .class = MIPMAP),
    {.name = "hipDeviceReset", .does = DEVICE_ENDS},
    {.name = "hipGetProcAddress", .does = DEVICE_FINDS, .at = 1, .size = 2},
    {.name = "hipLaunchKernel", .does = DEVICE_LAUNCHES, .named = host_name},
    {.name = "hipModuleLaunchKernel", .does = DEVICE_LAUNCHES, .named = function_name},
    {.name = "hipExtModuleLaunchKernel", .does = DEVICE_LAUNCHES, .named = function_name},
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
    .helpers = {"hipGetDevice", NULL, "hipPointerGetAttribute", "hipKernelNameRef",
                "hipKernelNameRefByPtr", "hipDeviceGetPCIBusId"},
    .bus = bus_of,
    .by_device = true,
    .number = 1,
};
