/* cl_user - a program of OpenCL that needs no header of it: cl_user WHAT. With LINKED it is linked
 * with the loader's library, else it looks everything up, in the file that CL_LOADER names if that
 * is set.
 *
 * buffers   1 MiB, a part of it, 2 MiB over memory of the host (no new memory), 4 MiB by
 * clCreateBufferWithProperties (or clCreateBuffer, where that is lacking); retained once and
 * released twice; leaks 3 MiB images    64 x 64 pixels of 4 bytes, and SVM of 256 KiB where the
 * device has it, all freed refused   more than any device has none      0 bytes, which is an error
 * that nobody asks for kernels   add (reads 1 MiB and a part of 64 KiB, writes 2 MiB) 30 times,
 * then 10 times with 2 MiB twice; fill (writes 2 MiB) 5 times, its number as an argument; the first
 * kernel of a name is released before the second is made waste     8 MiB too early, 6 MiB freed
 * late, 5 MiB that nobody uses, 4 MiB that are needed at the peak; and 1 MiB each of which a part
 * is used, which is mapped meanwhile, and which is filled when it is made and read at the end
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *handle;

#define FUNCTIONS(X)                                                                               \
    X(int, clGetPlatformIDs, (uint32_t, handle *, uint32_t *))                                     \
    X(int, clGetDeviceIDs, (handle, uint64_t, uint32_t, handle *, uint32_t *))                     \
    X(handle, clCreateContext,                                                                     \
      (const intptr_t *, uint32_t, const handle *, void *, void *, int32_t *))                     \
    X(handle, clCreateBuffer, (handle, uint64_t, size_t, void *, int32_t *))                       \
    X(handle, clCreateSubBuffer, (handle, uint64_t, uint32_t, const void *, int32_t *))            \
    X(handle, clCreateImage, (handle, uint64_t, const void *, const void *, void *, int32_t *))    \
    X(int, clRetainMemObject, (handle))                                                            \
    X(int, clReleaseMemObject, (handle))                                                           \
    X(int, clReleaseContext, (handle))                                                             \
    X(handle, clCreateCommandQueue, (handle, handle, uint64_t, int32_t *))                         \
    X(handle, clCreateProgramWithSource,                                                           \
      (handle, uint32_t, const char **, const size_t *, int32_t *))                                \
    X(int, clBuildProgram, (handle, uint32_t, const handle *, const char *, void *, void *))       \
    X(handle, clCreateKernel, (handle, const char *, int32_t *))                                   \
    X(int, clSetKernelArg, (handle, uint32_t, size_t, const void *))                               \
    X(int, clEnqueueNDRangeKernel,                                                                 \
      (handle, handle, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t,         \
       const handle *, handle *))                                                                  \
    X(int, clEnqueueReadBuffer,                                                                    \
      (handle, handle, uint32_t, size_t, size_t, void *, uint32_t, const handle *, handle *))      \
    X(void *, clEnqueueMapBuffer,                                                                  \
      (handle, handle, uint32_t, uint64_t, size_t, size_t, uint32_t, const handle *, handle *,     \
       int32_t *))                                                                                 \
    X(int, clEnqueueUnmapMemObject, (handle, handle, void *, uint32_t, const handle *, handle *))  \
    X(int, clFinish, (handle))                                                                     \
    X(int, clReleaseKernel, (handle))                                                              \
    X(void *, clSVMAlloc, (handle, uint64_t, size_t, uint32_t))                                    \
    X(void, clSVMFree, (handle, void *))

#ifdef LINKED
#define X(type, name, arguments) type name arguments;
FUNCTIONS(X)
#undef X
#else
#define X(type, name, arguments) static type(*name) arguments;
FUNCTIONS(X)
#undef X
#endif

#define MIB (1u << 20)

static handle context;

static void need(const void *p)
{
    if (!p)
        exit(4);
}

__attribute__((noinline)) static void leak(void)
{
    need(clCreateBuffer(context, 1, 3 * MIB, NULL, NULL));
}

static void buffers(void *library)
{
    handle (*with)(handle, const uint64_t *, uint64_t, size_t, void *,
                   int32_t *) = dlsym(library, "clCreateBufferWithProperties");
    const size_t part[2] = {0, 64 << 10};
    void *mine = aligned_alloc(4096, 2 * MIB);
    handle whole = clCreateBuffer(context, 1, 1 * MIB, NULL, NULL), over, other, sub;
    int32_t status;

    need(whole);
    need(sub = clCreateSubBuffer(whole, 1, 0x1220, part, &status));
    need(over = clCreateBuffer(context, 1 | 1 << 3, 2 * MIB, mine, &status));
    need(other = with ? with(context, NULL, 1, 4 * MIB, NULL, &status)
                      : clCreateBuffer(context, 1, 4 * MIB, NULL, &status));
    leak();
    clRetainMemObject(other);
    clReleaseMemObject(other);
    clReleaseMemObject(other);
    clReleaseMemObject(sub);
    clReleaseMemObject(over);
    clReleaseMemObject(whole);
}

static void images(void)
{
    const uint32_t format[2] = {0x10B5, 0x10DA}; /* RGBA, 8 bits without a sign */
    const struct {
        uint32_t type;
        size_t width, height, depth, count, row, slice;
        uint32_t levels, samples;
        handle over;
    } image = {0x10F1, 64, 64, 1, 1, 0, 0, 0, 0, NULL};
    int32_t status;
    handle made = clCreateImage(context, 1, format, &image, NULL, &status);
    void *shared = clSVMAlloc(context, 1, 256 << 10, 0);

    if (made)
        clReleaseMemObject(made);
    if (shared)
        clSVMFree(context, shared);
    printf("%d %d\n", made != NULL, shared != NULL);
}

static const char *source =
    "kernel void add(global const float *a, constant float *b, global float *c)\n"
    "{ size_t i = get_global_id(0); c[i] = a[i] + b[i]; }\n"
    "kernel void fill(global float *c, ulong n) { c[get_global_id(0)] = n; }\n";

static handle queue;

static void expect(int status)
{
    if (status)
        exit(5);
}

__attribute__((noinline)) static void launch(handle kernel, int times)
{
    const size_t items = 256;

    for (int i = 0; i < times; i++)
        expect(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
    expect(clFinish(queue));
}

static void kernels(handle device)
{
    const size_t part[2] = {0, 64 << 10};
    uint64_t number = 7;
    int32_t status;
    handle program, add, fill, a, b, whole, c;

    need(queue = clCreateCommandQueue(context, device, 0, &status));
    need(program = clCreateProgramWithSource(context, 1, &source, NULL, &status));
    expect(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    need(a = clCreateBuffer(context, 4, 1 * MIB, NULL, NULL)); /* the device reads it alone */
    need(whole = clCreateBuffer(context, 1, 4 * MIB, NULL, NULL));
    need(b = clCreateSubBuffer(whole, 1, 0x1220, part, &status));
    need(c = clCreateBuffer(context, 2, 2 * MIB, NULL, NULL)); /* writes */
    need(add = clCreateKernel(program, "add", &status));
    expect(clSetKernelArg(add, 0, sizeof(a), &a));
    expect(clSetKernelArg(add, 1, sizeof(b), &b));
    expect(clSetKernelArg(add, 2, sizeof(c), &c));
    launch(add, 30);
    expect(clSetKernelArg(add, 0, sizeof(c), &c)); /* it counts once */
    launch(add, 10);
    expect(clReleaseKernel(add));
    need(fill = clCreateKernel(program, "fill", &status));
    expect(clSetKernelArg(fill, 0, sizeof(c), &c));
    expect(clSetKernelArg(fill, 1, sizeof(number), &number));
    launch(fill, 5);
    clReleaseMemObject(b);
    clReleaseMemObject(whole);
}

static handle made(uint64_t flags, size_t bytes, void *from)
{
    handle buffer = clCreateBuffer(context, flags, bytes, from, NULL);

    need(buffer);
    return buffer;
}

__attribute__((noinline)) static handle make_early(void)
{
    return made(1, 8 * MIB, NULL);
}

__attribute__((noinline)) static handle make_late(void)
{
    return made(1, 6 * MIB, NULL);
}

__attribute__((noinline)) static handle make_unused(void)
{
    return made(1, 5 * MIB, NULL);
}

static void fill_it(handle fill, handle buffer)
{
    expect(clSetKernelArg(fill, 0, sizeof(buffer), &buffer));
    launch(fill, 1);
}

static void read_it(handle buffer)
{
    char first[16];

    expect(clEnqueueReadBuffer(queue, buffer, 1, 0, sizeof(first), first, 0, NULL, NULL));
}

static void waste(handle device)
{
    static char filled_from[MIB];
    const size_t range[2] = {0, 64 << 10};
    uint64_t number = 7;
    int32_t status;
    handle program, fill, early, late, unused, needed, whole, part, mapped, filled;
    void *at;

    need(queue = clCreateCommandQueue(context, device, 0, &status));
    need(program = clCreateProgramWithSource(context, 1, &source, NULL, &status));
    expect(clBuildProgram(program, 0, NULL, NULL, NULL, NULL));
    need(fill = clCreateKernel(program, "fill", &status));
    expect(clSetKernelArg(fill, 1, sizeof(number), &number));
    early = make_early();
    late = make_late();
    fill_it(fill, late);
    unused = make_unused();
    whole = made(1, MIB, NULL);
    need(part = clCreateSubBuffer(whole, 1, 0x1220, range, &status));
    fill_it(fill, part);
    mapped = made(1, MIB, NULL);
    filled = made(1 | 1 << 5, MIB, filled_from);
    need(at = clEnqueueMapBuffer(queue, mapped, 1, 2, 0, MIB, 0, NULL, NULL, &status));
    needed = made(1, 4 * MIB, NULL);
    fill_it(fill, needed);
    expect(clEnqueueUnmapMemObject(queue, mapped, at, 0, NULL, NULL));
    read_it(needed);
    clReleaseMemObject(needed);
    fill_it(fill, part);
    fill_it(fill, mapped);
    clReleaseMemObject(mapped);
    read_it(filled);
    clReleaseMemObject(filled);
    clReleaseMemObject(part);
    clReleaseMemObject(whole);
    fill_it(fill, early);
    read_it(early);
    clReleaseMemObject(early);
    clReleaseMemObject(unused);
    clReleaseMemObject(late);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "buffers";
    const char *other = getenv("CL_LOADER");
    void *library = dlopen(other ? other : "libOpenCL.so.1", RTLD_NOW);
    handle platform, device;
    uint32_t count = 0;
    int32_t status;

    if (!library)
        return 3;
#ifndef LINKED
#define X(type, name, arguments) *(void **)&name = dlsym(library, #name);
    FUNCTIONS(X)
#undef X
#endif
    if (clGetPlatformIDs(1, &platform, &count) || !count ||
        clGetDeviceIDs(platform, UINT32_MAX, 1, &device, &count) || !count)
        return 3; /* no device */
    need(context = clCreateContext(NULL, 1, &device, NULL, NULL, &status));
    if (strcmp(what, "buffers") == 0)
        buffers(library);
    else if (strcmp(what, "images") == 0)
        images();
    else if (strcmp(what, "kernels") == 0)
        kernels(device);
    else if (strcmp(what, "waste") == 0)
        waste(device);
    else if (strcmp(what, "refused") == 0)
        return clCreateBuffer(context, 1, (size_t)1 << 50, NULL, &status) != NULL;
    else if (strcmp(what, "none") == 0)
        return clCreateBuffer(context, 1, 0, NULL, NULL) != NULL;
    return 0;
}
