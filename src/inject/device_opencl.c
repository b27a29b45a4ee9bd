/* device_opencl - OpenCL. Its objects are counted by reference and live as long as commands use them: when
 * one dies only the library knows, and says so to whoever asks (clSetMemObjectDestructorCallback).
 *
 * A part of a buffer, what is made over memory of the program (CL_MEM_USE_HOST_PTR) and an image over
 * another object are no new memory. Devices are handles: they are numbered in the order in which a
 * program first allocates on them; a context of several counts as its first.
 */
#include "inject/device.h"

#include <stdatomic.h>

enum { OBJECT, SVM };                                        /* classes of handles */
enum { ON_DEVICE, PINNED, SHARED };                          /* kinds of spaces */
enum { OF_CONTEXT = 2, OF_OBJECT, WHEN_IT_DIES, OF_KERNEL }; /* helpers */

#define USE_HOST_PTR (1u << 3)
#define CONTEXT_DEVICES 0x1081u
#define MEM_SIZE 0x1102u
#define KERNEL_NAME 0x1190u
#define DEVICES_MOST 64

typedef int info_function(uintptr_t, uint32_t, size_t, void *, size_t *);
typedef int dies_function(uintptr_t, void (*)(uintptr_t, void *), void *);

static const struct device_call object[], svm[]; /* of the class of what dies */

/* ---- devices ---- */

static uint32_t number_of(uintptr_t handle)
{
    static _Atomic uintptr_t seen[DEVICES_MOST];
    uint32_t i = 0;

    for (; i + 1 < DEVICES_MOST; i++) {
        uintptr_t there = 0;

        if (atomic_load(&seen[i]) == handle ||
            atomic_compare_exchange_strong(&seen[i], &there, handle) || there == handle)
            break;
    }
    return i;
}

static void context_place(struct device_library *l, const uintptr_t *a, uint8_t *kind,
                          uint32_t *device, char *text)
{
    uintptr_t devices[DEVICES_MOST] = {0};
    info_function *ask = (info_function *)l->helpers[OF_CONTEXT];

    (void)kind, (void)text;
    if (ask && ask(a[0], CONTEXT_DEVICES, sizeof(devices), devices, NULL) == 0)
        *device = number_of(devices[0]);
}

/* ---- objects ---- */

static void gone(uintptr_t handle, void *context)
{
    device_died(&device_opencl, context, handle);
}

/* Whoever cannot be told of its end does not count: it would seem to live for ever. */
static bool follow(struct device_library *l, uint64_t handle, uint64_t *bytes)
{
    dies_function *tell = (dies_function *)l->helpers[WHEN_IT_DIES];
    info_function *ask = (info_function *)l->helpers[OF_OBJECT];

    if (!*bytes && ask)
        ask(handle, MEM_SIZE, sizeof(*bytes), bytes, NULL);
    return *bytes && tell && tell(handle, gone, (void *)object) == 0;
}

static bool buffer_made(struct device_library *l, const uintptr_t *a, uint64_t handle,
                        uint64_t *bytes)
{
    return !(a[1] & USE_HOST_PTR) && follow(l, handle, bytes);
}

static bool buffer_with_made(struct device_library *l, const uintptr_t *a, uint64_t handle,
                             uint64_t *bytes)
{
    return !(a[2] & USE_HOST_PTR) && follow(l, handle, bytes);
}

/* cl_image_desc: its type, six sizes, two numbers, and the object that it is made over. */
struct image {
    uint32_t type;
    size_t sizes[6];
    uint32_t levels, samples;
    const void *over;
};

static bool image_made(struct device_library *l, const uintptr_t *a, uint64_t handle,
                       uint64_t *bytes)
{
    const struct image *d = (const struct image *)a[3];

    return !d->over && buffer_made(l, a, handle, bytes);
}

static bool image_with_made(struct device_library *l, const uintptr_t *a, uint64_t handle,
                            uint64_t *bytes)
{
    const struct image *d = (const struct image *)a[4];

    return !d->over && buffer_with_made(l, a, handle, bytes);
}

static void kernel_name(struct device_library *l, uintptr_t kernel, char *name, size_t room)
{
    info_function *ask = (info_function *)l->helpers[OF_KERNEL];

    if (ask && ask(kernel, KERNEL_NAME, room, name, NULL) != 0)
        name[0] = '\0'; /* longer than there is room */
}

/* clEnqueueSVMFree(queue, count, pointers, function ...): without a function of the program's the library
 * frees them, when it comes to it.
 */
static bool svm_freed(struct device_library *l, const uintptr_t *a, uint64_t *owner)
{
    const uintptr_t *pointers = (const uintptr_t *)a[2];

    (void)owner;
    for (uint32_t i = 0; !a[3] && i < (uint32_t)a[1]; i++)
        device_died(l->vendor, svm, pointers[i]);
    return false;
}

// clang-format off
#define MAKES(call, ...) \
    {.name = call, .does = DEVICE_ALLOCATES, .returns = true, .owner = -1, .place = context_place, __VA_ARGS__}

static const struct device_call object[] = {{.name = "an object", .class = OBJECT}};
static const struct device_call svm[] = {{.name = "SVM", .class = SVM}};

static const struct device_call calls[] = {
    MAKES("clCreateBuffer", .size = 2, .at = 4, .made = buffer_made),
    MAKES("clCreateBufferWithProperties", .size = 3, .at = 5, .made = buffer_with_made),
    MAKES("clCreateImage", .size = -1, .at = 5, .made = image_made),
    MAKES("clCreateImageWithProperties", .size = -1, .at = 6, .made = image_with_made),
    MAKES("clCreateImage2D", .size = -1, .at = 7, .made = buffer_made),
    MAKES("clCreateImage3D", .size = -1, .at = 9, .made = buffer_made),
    MAKES("clCreatePipe", .size = -1, .at = 5, .made = buffer_made),
    {.name = "clSVMAlloc", .does = DEVICE_ALLOCATES, .class = SVM, .kind = SHARED, .returns = true,
     .size = 2, .at = -1, .owner = -1},
    {.name = "clSVMFree", .does = DEVICE_FREES, .class = SVM, .handle = 1, .returns = true},
    {.name = "clEnqueueSVMFree", .does = DEVICE_TELLS, .ended = svm_freed},
    {.name = "clEnqueueNDRangeKernel", .does = DEVICE_LAUNCHES, .handle = 1, .named = kernel_name},
};
// clang-format on

static const char *const files[] = {"libOpenCL.so", "libOpenCL-", NULL};

const struct device_vendor device_opencl = {
    .files = files,
    .device = "opencl",
    .pinned = "opencl-host",
    .shared = "opencl-svm",
    .calls = calls,
    .count = sizeof(calls) / sizeof(calls[0]),
    .helpers = {[OF_CONTEXT] = "clGetContextInfo",
                [OF_OBJECT] = "clGetMemObjectInfo",
                [WHEN_IT_DIES] = "clSetMemObjectDestructorCallback",
                [OF_KERNEL] = "clGetKernelInfo"},
    .number = 4,
};
