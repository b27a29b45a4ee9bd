/* aligned - the aligned part of the malloc family; see hooks.c. */
#include "inject/event.h"
#include "inject/failed.h"
#include "inject/real.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

static OUTLINE int posix_memalign_recorded(void **out, size_t alignment, size_t size)
{
    int result = real_now()->posix_memalign(out, alignment, size);

    if (!result && *out)
        event_alloc(*out, size, RING_BY_ALIGNED, CALLER());
    else
        failed_alloc("posix_memalign", size, result, CALLER());
    return result;
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t size)
{
    if (event_skip_alloc(size))
        return real_now()->posix_memalign(out, alignment, size);
    return posix_memalign_recorded(out, alignment, size);
}

static OUTLINE void *aligned_alloc_recorded(size_t alignment, size_t size)
{
    void *p = real_now()->aligned_alloc(alignment, size);

    if (p)
        event_alloc(p, size, RING_BY_ALIGNED, CALLER());
    else
        failed_alloc("aligned_alloc", size, errno, CALLER());
    return p;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    if (event_skip_alloc(size))
        return real_now()->aligned_alloc(alignment, size);
    return aligned_alloc_recorded(alignment, size);
}

static OUTLINE void *memalign_recorded(size_t alignment, size_t size)
{
    void *p = real_now()->memalign(alignment, size);

    if (p)
        event_alloc(p, size, RING_BY_ALIGNED, CALLER());
    else
        failed_alloc("memalign", size, errno, CALLER());
    return p;
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    if (event_skip_alloc(size))
        return real_now()->memalign(alignment, size);
    return memalign_recorded(alignment, size);
}

static OUTLINE void *valloc_recorded(size_t size)
{
    void *p = real_now()->valloc(size);

    if (p)
        event_alloc(p, size, RING_BY_ALIGNED, CALLER());
    else
        failed_alloc("valloc", size, errno, CALLER());
    return p;
}

EXPORT void *valloc(size_t size)
{
    if (event_skip_alloc(size))
        return real_now()->valloc(size);
    return valloc_recorded(size);
}

static OUTLINE void *pvalloc_recorded(size_t size)
{
    void *p = real_now()->pvalloc(size);

    if (p)
        event_alloc(p, size, RING_BY_ALIGNED, CALLER());
    else
        failed_alloc("pvalloc", size, errno, CALLER());
    return p;
}

EXPORT void *pvalloc(size_t size)
{
    if (event_skip_alloc(size))
        return real_now()->pvalloc(size);
    return pvalloc_recorded(size);
}
