/* device_opencl - OpenCL. Its objects are counted by reference and live as long as commands use
 * them: when one dies only the library knows, and says so to whoever asks
 * (clSetMemObjectDestructorCallback).
 *
 * A part of a buffer, what is made over memory of the program (CL_MEM_USE_HOST_PTR) and an image
 * over another object are no new memory. Devices are handles: they are numbered in the order in
 * which a program first allocates on them; a context of several counts as its first.
 *
 * Arguments of kernels are objects, or values of any kind: an object is known by its handle, if it
 * came to be while launches were counted. What a kernel does with it is what both say of
 * themselves: how it was made, and how the kernel's source declares it, where the library knows
 * that.
 *
 * Accesses are told of objects, when a command is put into its queue: of kernels, and of what the
 * host reads, writes, copies and maps. SVM, which the host touches unseen, has none.
 */
#include "inject/device_tell.h"

#include "inject/device_accesses.h"
#include "inject/device_watch.h"

#include <stdatomic.h>

enum { OBJECT, SVM }; /* classes of handles */
enum {
    OF_CONTEXT = 2,
    OF_OBJECT,
    WHEN_IT_DIES,
    OF_KERNEL,
    OF_ARGUMENT,
    READ,
    WHEN_DONE,
    LET_GO,
    OF_QUEUE,
    MARKER
}; /* helpers */

#define WRITE_ONLY (1u << 1)
#define READ_ONLY (1u << 2)
#define USE_HOST_PTR (1u << 3)
#define COPY_HOST_PTR (1u << 5)
#define CONTEXT_DEVICES 0x1081u
#define MEM_SIZE 0x1102u
#define KERNEL_NAME 0x1190u
#define ARGUMENT_ACCESS 0x1197u
#define ARGUMENT_QUALIFIER 0x1199u
#define ACCESS_READ 0x11a0u
#define ACCESS_WRITE 0x11a1u
#define IS_CONST 1u
#define DEVICES_MOST 64

typedef int info_function(uintptr_t, uint32_t, size_t, void *, size_t *);
typedef int argument_function(uintptr_t, uint32_t, uint32_t, size_t, void *, size_t *);
typedef int dies_function(uintptr_t, void (*)(uintptr_t, void *), void *);

static const struct device_call object[], svm[], part[]; /* of the class of what dies */

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
    device_watch_gone(handle);
    arguments_object_gone(handle);
    if (context != part)
        device_died(&device_opencl, context, handle);
}

/* `of`: whose memory it has: its own, 0: the program's. Whoever cannot be told of its end does not
 * count: it would seem to live for ever.
 */
static bool follow(struct device_library *l, uint64_t handle, uint64_t *bytes, uint64_t flags,
                   uint64_t of)
{
    dies_function *tell = (dies_function *)l->helpers[WHEN_IT_DIES];
    info_function *ask = (info_function *)l->helpers[OF_OBJECT];
    bool wanted = arguments_wanted(), fresh = of == handle;

    if (!fresh && !wanted)
        return false;
    if (!*bytes && ask)
        ask(handle, MEM_SIZE, sizeof(*bytes), bytes, NULL);
    if (!*bytes || !tell || tell(handle, gone, (void *)(fresh ? object : part)) != 0)
        return false;
    if (wanted)
        arguments_object(handle, *bytes,
                         flags & READ_ONLY    ? ARGUMENT_READ
                         : flags & WRITE_ONLY ? ARGUMENT_WRITE
                                              : ARGUMENT_BOTH,
                         of);
    if (wanted)
        device_watch_object(handle, *bytes, of ? of : handle);
    if (fresh)
        accesses_begin(&device_opencl);
    return fresh;
}

static bool buffer_made(struct device_library *l, const uintptr_t *a, uint64_t handle,
                        uint64_t *bytes)
{
    return follow(l, handle, bytes, a[1], a[1] & USE_HOST_PTR ? 0 : handle);
}

static bool buffer_with_made(struct device_library *l, const uintptr_t *a, uint64_t handle,
                             uint64_t *bytes)
{
    return follow(l, handle, bytes, a[2], a[2] & USE_HOST_PTR ? 0 : handle);
}

/* clCreateSubBuffer(buffer, flags ...) */
static void part_made(struct device_library *l, const uintptr_t *a, uintptr_t result)
{
    uint64_t bytes = 0;

    if (result)
        follow(l, result, &bytes, a[1], a[0]);
}

/* cl_image_desc: its type, six sizes, two numbers, and the object that it is made over. */
struct image {
    uint32_t type;
    size_t sizes[6];
    uint32_t levels, samples;
    const void *over;
};

static uint64_t over_what(const struct image *d, uint64_t flags, uint64_t handle)
{
    if (d->over)
        return (uintptr_t)d->over;
    return flags & USE_HOST_PTR ? 0 : handle;
}

static bool image_made(struct device_library *l, const uintptr_t *a, uint64_t handle,
                       uint64_t *bytes)
{
    const struct image *d = (const struct image *)a[3];

    return follow(l, handle, bytes, a[1], over_what(d, a[1], handle));
}

static bool image_with_made(struct device_library *l, const uintptr_t *a, uint64_t handle,
                            uint64_t *bytes)
{
    const struct image *d = (const struct image *)a[4];

    return follow(l, handle, bytes, a[2], over_what(d, a[2], handle));
}

/* ---- kernels and their arguments ---- */

static void kernel_name(struct device_library *l, uintptr_t kernel, char *name, size_t room)
{
    info_function *ask = (info_function *)l->helpers[OF_KERNEL];

    if (ask && ask(kernel, KERNEL_NAME, room, name, NULL) != 0)
        name[0] = '\0'; /* longer than there is room */
}

static unsigned int may(void *context, uint64_t kernel, uint32_t index)
{
    argument_function *ask =
        (argument_function *)((struct device_library *)context)->helpers[OF_ARGUMENT];
    uint64_t qualifier = 0;
    uint32_t access = 0;
    bool told = ask &&
                ask(kernel, index, ARGUMENT_QUALIFIER, sizeof(qualifier), &qualifier, NULL) == 0;

    if (ask)
        ask(kernel, index, ARGUMENT_ACCESS, sizeof(access), &access, NULL);
    if (qualifier & IS_CONST || access == ACCESS_READ)
        return ARGUMENT_READ | ARGUMENT_TOLD;
    return (access == ACCESS_WRITE ? ARGUMENT_WRITE : ARGUMENT_BOTH) | (told ? ARGUMENT_TOLD : 0);
}

/* clSetKernelArg(kernel, index, bytes, where it is) */
static void argument_set(struct device_library *l, const uintptr_t *a, uintptr_t result)
{
    bool handle = a[2] == sizeof(uintptr_t) && a[3];

    if (!(uint32_t)result)
        arguments_set(a[0], (uint32_t)a[1], handle ? *(const uintptr_t *)a[3] : 0, may, l);
}

/* clSetKernelArgSVMPointer(kernel, index, pointer): to where a block begins, or it is not known */
static void pointer_set(struct device_library *l, const uintptr_t *a, uintptr_t result)
{
    if (!(uint32_t)result)
        arguments_set(a[0], (uint32_t)a[1], a[2], may, l);
}

static void kernel_made(struct device_library *l, const uintptr_t *a, uintptr_t result)
{
    (void)l, (void)a;
    if (result)
        arguments_kernel(result);
}

/* clCreateKernelsInProgram(program, room, kernels, how many) */
static void kernels_made(struct device_library *l, const uintptr_t *a, uintptr_t result)
{
    const uintptr_t *made = (const uintptr_t *)a[2];

    (void)l;
    for (uint32_t i = 0; !(uint32_t)result && made && i < (uint32_t)a[1] && made[i]; i++)
        arguments_kernel(made[i]);
}

/* ---- memory that is shared ---- */

/* clSVMAlloc(context, flags, bytes ...) */
static bool svm_made(struct device_library *l, const uintptr_t *a, uint64_t handle, uint64_t *bytes)
{
    (void)l, (void)a;
    if (arguments_wanted())
        arguments_object(handle, *bytes, ARGUMENT_BOTH, 0);
    return true;
}

/* clEnqueueSVMFree(queue, count, pointers, function ...): without a function of the program's the
 * library frees them, when it comes to it.
 */
static bool svm_freed(struct device_library *l, const uintptr_t *a, uint64_t *owner)
{
    const uintptr_t *pointers = (const uintptr_t *)a[2];

    (void)owner;
    for (uint32_t i = 0; !a[3] && i < (uint32_t)a[1]; i++) {
        arguments_object_gone(pointers[i]);
        device_died(l->vendor, svm, pointers[i]);
    }
    return false;
}

/* ---- what the host does with objects ---- */

#define MAP_WRITE 6u /* CL_MAP_WRITE, CL_MAP_WRITE_INVALIDATE_REGION */

static bool is_filled(const uintptr_t *a)
{
    return a[1] & COPY_HOST_PTR;
}

static bool is_filled_with(const uintptr_t *a)
{
    return a[2] & COPY_HOST_PTR;
}

static void was_read(struct device_library *l, const uintptr_t *a, uintptr_t result)
{
    if (!(uint32_t)result)
        accesses_tell(l->vendor, a[1], ARGUMENT_READ, "(read by the host)");
}

static void was_written(struct device_library *l, const uintptr_t *a, uintptr_t result)
{
    if (!(uint32_t)result)
        accesses_tell(l->vendor, a[1], ARGUMENT_WRITE, "(written by the host)");
}

static void was_filled(struct device_library *l, const uintptr_t *a, uintptr_t result)
{
    if (!(uint32_t)result)
        accesses_tell(l->vendor, a[1], ARGUMENT_WRITE, "(filled)");
}

static void was_copied(struct device_library *l, const uintptr_t *a, uintptr_t result)
{
    if ((uint32_t)result)
        return;
    accesses_tell(l->vendor, a[1], ARGUMENT_READ, "(copied)");
    accesses_tell(l->vendor, a[2], ARGUMENT_WRITE, "(copied)");
}

/* clEnqueueMapBuffer(queue, object, whether it waits, flags ...) gives an address. */
static void was_mapped(struct device_library *l, const uintptr_t *a, uintptr_t result)
{
    if (result)
        accesses_tell(l->vendor, a[1], a[3] & MAP_WRITE ? ARGUMENT_BOTH : ARGUMENT_READ,
                      "(mapped)");
}

/* Until now the host may have used it at any time. */
static void was_unmapped(struct device_library *l, const uintptr_t *a, uintptr_t result)
{
    if (!(uint32_t)result)
        accesses_tell(l->vendor, a[1], ARGUMENT_BOTH | ARGUMENT_SINCE, "(unmapped)");
}

// clang-format off
#define MAKES(call, ...) \
    {.name = call, .does = DEVICE_ALLOCATES, .returns = true, .owner = -1, .place = context_place, \
     .filled = is_filled, __VA_ARGS__}
#define MAKES_WITH(call, ...) \
    {.name = call, .does = DEVICE_ALLOCATES, .returns = true, .owner = -1, .place = context_place, \
     .filled = is_filled_with, __VA_ARGS__}
#define NOTES(call, function) {.name = call, .does = DEVICE_NOTES, .noted = function}
#define WRITES(call, function, object) \
    {.name = call, .does = DEVICE_NOTES, .noted = function, .target = 1 + (object)}

static const struct device_call object[] = {{.name = "an object", .class = OBJECT}};
static const struct device_call svm[] = {{.name = "SVM", .class = SVM}};
static const struct device_call part[] = {{.name = "a part", .class = OBJECT}};

static const struct device_call calls[] = {
    MAKES("clCreateBuffer", .size = 2, .at = 4, .made = buffer_made),
    MAKES_WITH("clCreateBufferWithProperties", .size = 3, .at = 5, .made = buffer_with_made),
    MAKES("clCreateImage", .size = -1, .at = 5, .made = image_made),
    MAKES_WITH("clCreateImageWithProperties", .size = -1, .at = 6, .made = image_with_made),
    MAKES("clCreateImage2D", .size = -1, .at = 7, .made = buffer_made),
    MAKES("clCreateImage3D", .size = -1, .at = 9, .made = buffer_made),
    MAKES("clCreatePipe", .size = -1, .at = 5, .made = buffer_made),
    {.name = "clSVMAlloc", .does = DEVICE_ALLOCATES, .class = SVM, .kind = RING_SPACE_SHARED, .returns = true,
     .size = 2, .at = -1, .owner = -1, .made = svm_made},
    {.name = "clSVMFree", .does = DEVICE_FREES, .class = SVM, .handle = 1, .returns = true},
    {.name = "clEnqueueSVMFree", .does = DEVICE_TELLS, .ended = svm_freed},
    {.name = "clEnqueueNDRangeKernel", .does = DEVICE_LAUNCHES, .handle = 1, .named = kernel_name,
     .given = arguments_sum},
    {.name = "clEnqueueTask", .does = DEVICE_LAUNCHES, .handle = 1, .named = kernel_name,
     .given = arguments_sum},
    NOTES("clCreateSubBuffer", part_made),
    NOTES("clCreateKernel", kernel_made),
    NOTES("clCreateKernelsInProgram", kernels_made),
    NOTES("clSetKernelArg", argument_set),
    NOTES("clSetKernelArgSVMPointer", pointer_set),
    NOTES("clEnqueueReadBuffer", was_read),
    NOTES("clEnqueueReadBufferRect", was_read),
    NOTES("clEnqueueReadImage", was_read),
    WRITES("clEnqueueWriteBuffer", was_written, 1),
    WRITES("clEnqueueWriteBufferRect", was_written, 1),
    WRITES("clEnqueueWriteImage", was_written, 1),
    WRITES("clEnqueueFillBuffer", was_filled, 1),
    WRITES("clEnqueueFillImage", was_filled, 1),
    WRITES("clEnqueueCopyBuffer", was_copied, 2),
    WRITES("clEnqueueCopyBufferRect", was_copied, 2),
    WRITES("clEnqueueCopyImage", was_copied, 2),
    WRITES("clEnqueueCopyImageToBuffer", was_copied, 2),
    WRITES("clEnqueueCopyBufferToImage", was_copied, 2),
    NOTES("clEnqueueMapBuffer", was_mapped),
    NOTES("clEnqueueMapImage", was_mapped),
    WRITES("clEnqueueUnmapMemObject", was_unmapped, 1),
};
// clang-format on

static const struct device_watch_needs watch_needs = {READ, WHEN_DONE, LET_GO, OF_QUEUE, MARKER};

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
                [OF_KERNEL] = "clGetKernelInfo",
                [OF_ARGUMENT] = "clGetKernelArgInfo",
                [READ] = "clEnqueueReadBuffer",
                [WHEN_DONE] = "clSetEventCallback",
                [LET_GO] = "clReleaseEvent",
                [OF_QUEUE] = "clGetCommandQueueInfo",
                [MARKER] = "clEnqueueMarkerWithWaitList"},
    .watch = &watch_needs,
    .number = 4,
};
