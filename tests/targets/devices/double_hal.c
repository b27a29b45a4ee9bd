/* double_hal - a libascend_hal.so for tests: documented functions of the HAL over host memory. */
#include "double.h"

enum { DONE = 0, NO_MEMORY = 6, INVALID = 3 };

int halMemAlloc(void **p, unsigned long long bytes, unsigned long long flags)
{
    (void)flags;
    *p = double_take(bytes, NULL);
    return *p ? DONE : NO_MEMORY;
}

int halMemFree(void *p)
{
    return double_give(p) ? DONE : INVALID;
}

int halMemCreate(void **handle, size_t bytes, const void *prop, uint64_t flags)
{
    (void)prop, (void)flags;
    *handle = double_take(bytes, NULL);
    return *handle ? DONE : NO_MEMORY;
}

int halMemRelease(void *handle)
{
    return double_give(handle) ? DONE : INVALID;
}
