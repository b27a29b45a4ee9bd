/* double_hip - a libamdhip64.so.6 for tests: documented functions of HIP over host memory. */
#include "double.h"

enum { DONE = 0, INVALID = 1, NO_MEMORY = 2 };

#define DEVICES 2

static __thread int current;
static const char owners[DEVICES]; /* one for each device */

int hipSetDevice(int device)
{
    current = device;
    return device < DEVICES ? DONE : INVALID;
}

int hipGetDevice(int *device)
{
    *device = current;
    return DONE;
}

int hipMalloc(void **p, size_t bytes)
{
    *p = double_take(bytes, &owners[current]);
    return *p ? DONE : NO_MEMORY;
}

int hipMallocManaged(void **p, size_t bytes, unsigned int flags)
{
    (void)flags;
    return hipMalloc(p, bytes);
}

/* Some versions of the library come to it by their own public functions. */
int hipHostMalloc(void **p, size_t bytes, unsigned int flags)
{
    (void)flags;
    return hipMalloc(p, bytes);
}

int hipFree(void *p)
{
    return !p || double_give(p) ? DONE : INVALID;
}

int hipHostFree(void *p)
{
    return hipFree(p);
}

int hipDeviceReset(void)
{
    double_end(&owners[current]);
    return DONE;
}

/* ---- what is of several dimensions ---- */

struct pitched {
    void *at;
    size_t pitch, width, height;
};

struct extent {
    size_t width, height, depth;
};

int hipMalloc3D(struct pitched *p, struct extent e)
{
    *p = (struct pitched){NULL, (e.width + 511) & ~(size_t)511, e.width, e.height};
    return hipMalloc(&p->at, p->pitch * e.height * e.depth);
}

int hipMalloc3DArray(void **array, const int *channels, struct extent e, unsigned int flags)
{
    return flags == 7 ? hipMalloc(array, (size_t)channels[0] / 8 * e.width * e.height * e.depth)
                      : INVALID;
}

int hipMallocMipmappedArray(void **array, const int *channels, struct extent e, unsigned int levels,
                            unsigned int flags)
{
    return levels == 2 && flags == 7
             ? hipMalloc(array, (size_t)channels[0] / 8 * e.width * e.height * e.depth * 9 / 8)
             : INVALID;
}

int hipArrayCreate(void **array, const void *descriptor)
{
    const struct {
        size_t width, height;
        unsigned int format, channels;
    } *d = descriptor;

    return hipMalloc(array, d->width * d->height * 4 * d->channels);
}

int hipFreeArray(void *array)
{
    return hipFree(array);
}

int hipFreeMipmappedArray(void *array)
{
    return hipFree(array);
}

/* ---- pools: the stream is 1 + the number of its device ---- */

int hipMallocAsync(void **p, size_t bytes, void *stream)
{
    int here = current, r;

    current = stream ? (int)(uintptr_t)stream - 1 : here;
    r = hipMalloc(p, bytes);
    current = here;
    return r;
}

int hipPointerGetAttribute(void *data, int attribute, void *p)
{
    const char *owner = double_owner(p);

    if (attribute != 9 || !owner)
        return INVALID;
    *(int *)data = (int)(owner - owners);
    return DONE;
}

/* ---- launches ---- */

int hipModuleLaunchKernel(void *function, unsigned int gx, unsigned int gy, unsigned int gz,
                          unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                          void *stream, void **parameters, void **extra)
{
    (void)function, (void)by, (void)bz, (void)stream, (void)extra;
    return gx == 1 && gy == 2 && gz == 3 && bx == 4 && shared == 8 && parameters ? DONE : INVALID;
}

const char *hipKernelNameRef(void *function)
{
    (void)function;
    return "hip_of_tests";
}

/* ---- where it is; HIP_VISIBLE_DEVICES, whatever it says, changes the two ---- */

int hipDeviceGetPCIBusId(char *bus, int room, int device)
{
    static const char *const places[DEVICES] = {"0000:03:00.0", "0000:09:00.0"};

    if (room < 13 || device >= DEVICES)
        return INVALID;
    memcpy(bus, places[getenv("HIP_VISIBLE_DEVICES") ? 1 - device : device], 13);
    return DONE;
}
