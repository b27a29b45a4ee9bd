/* device_layer - OpenCL's own way to those who listen: its loader calls the library that
 * OPENCL_LAYERS names, and hands it the table of its functions, of which it takes another one in
 * return. So programs are seen that have the loader within themselves, or under another name.
 *
 * Others come to the same functions by stubs as well (device_files.c), and from there through this
 * table: what the library calls of itself is no call of the program, so nothing counts twice.
 */
#include "inject/device.h"
#include "inject/process.h"

#include <stdatomic.h>
#include <string.h>

#define ENTRIES 149u /* of the table of OpenCL 3.0 */
#define API_VERSION 0x4240u
#define API_NAME 0x4241u
#define VERSION 100u
#define INVALID (-30)

static const struct {
    uint8_t place;
    const char *name;
} places[] = {
    {8, "clGetContextInfo"},
    {12, "clGetCommandQueueInfo"},
    {14, "clCreateBuffer"},
    {15, "clCreateImage2D"},
    {16, "clCreateImage3D"},
    {20, "clGetMemObjectInfo"},
    {34, "clCreateKernel"},
    {35, "clCreateKernelsInProgram"},
    {38, "clSetKernelArg"},
    {39, "clGetKernelInfo"},
    {44, "clReleaseEvent"},
    {48, "clEnqueueReadBuffer"},
    {49, "clEnqueueWriteBuffer"},
    {50, "clEnqueueCopyBuffer"},
    {51, "clEnqueueReadImage"},
    {52, "clEnqueueWriteImage"},
    {53, "clEnqueueCopyImage"},
    {54, "clEnqueueCopyImageToBuffer"},
    {55, "clEnqueueCopyBufferToImage"},
    {56, "clEnqueueMapBuffer"},
    {57, "clEnqueueMapImage"},
    {58, "clEnqueueUnmapMemObject"},
    {59, "clEnqueueNDRangeKernel"},
    {60, "clEnqueueTask"},
    {81, "clSetEventCallback"},
    {82, "clCreateSubBuffer"},
    {83, "clSetMemObjectDestructorCallback"},
    {86, "clEnqueueReadBufferRect"},
    {87, "clEnqueueWriteBufferRect"},
    {88, "clEnqueueCopyBufferRect"},
    {96, "clCreateImage"},
    {101, "clGetKernelArgInfo"},
    {102, "clEnqueueFillBuffer"},
    {103, "clEnqueueFillImage"},
    {105, "clEnqueueMarkerWithWaitList"},
    {124, "clCreatePipe"},
    {126, "clSVMAlloc"},
    {127, "clSVMFree"},
    {128, "clEnqueueSVMFree"},
    {134, "clSetKernelArgSVMPointer"},
    {146, "clCreateBufferWithProperties"},
    {147, "clCreateImageWithProperties"},
};
#define PLACES (sizeof(places) / sizeof(places[0]))

static struct device_library below; /* what is behind us */
static uintptr_t table[ENTRIES];

/* Older loaders have shorter tables. */
static uint32_t place_of(const char *name, uint32_t count)
{
    for (size_t i = 0; name && i < PLACES; i++)
        if (places[i].place < count && strcmp(places[i].name, name) == 0)
            return places[i].place;
    return ENTRIES;
}

static void fill(const uintptr_t *real, uint32_t count)
{
    const struct device_vendor *v = &device_opencl;

    below = (struct device_library){.vendor = v, .object = real, .unnamed = true};
    memcpy(table, real, count * sizeof(*table));
    for (unsigned int i = 0; i < DEVICE_HELPERS; i++) {
        uint32_t place = place_of(v->helpers[i], count);

        below.helpers[i] = place < ENTRIES ? real[place] : 0;
    }
    for (size_t i = 0; i < v->count; i++) {
        uint32_t place = place_of(v->calls[i].name, count);

        if (place < ENTRIES && real[place])
            table[place] = device_stub(&below, &v->calls[i], real[place]);
    }
}

static int give(const void *value, size_t bytes, size_t room, void *to, size_t *size)
{
    if (to && room < bytes)
        return INVALID;
    if (to)
        memcpy(to, value, bytes);
    if (size)
        *size = bytes;
    return 0;
}

int clGetLayerInfo(uint32_t what, size_t room, void *to, size_t *size);
int clInitLayer(uint32_t count, const uintptr_t *real, uint32_t *ours, const uintptr_t **filled);

EXPORT int clGetLayerInfo(uint32_t what, size_t room, void *to, size_t *size)
{
    static const uint32_t version = VERSION;
    static const char name[] = "tidemark";

    if (what == API_VERSION)
        return give(&version, sizeof(version), room, to, size);
    return what == API_NAME ? give(name, sizeof(name), room, to, size) : INVALID;
}

/* A second loader in the same process goes without: there is one table. */
EXPORT int clInitLayer(uint32_t count, const uintptr_t *real, uint32_t *ours,
                       const uintptr_t **filled)
{
    static atomic_flag taken = ATOMIC_FLAG_INIT;

    if (!process_recorded() || !real || !ours || !filled || atomic_flag_test_and_set(&taken))
        return INVALID;
    count = count < ENTRIES ? count : ENTRIES;
    fill(real, count);
    *ours = count;
    *filled = table;
    return 0;
}
