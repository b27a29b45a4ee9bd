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
