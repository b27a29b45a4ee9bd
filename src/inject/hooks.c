/* hooks - the malloc family of the program.
 *
 * Each hook decides in a few instructions whether the call is of interest; if not, it jumps to the
 * real function. The recorded form of each is reached by a jump as well, so that it stands in the
 * hook's place on the stack and CALLER() is the program's frame.
 *
 * Order matters: an ALLOC is recorded after the memory exists, a FREE before it is given back, a
 * realloc is both. So no other thread's ALLOC of an address can come before our FREE of it.
 */
#include "inject/event.h"
#include "inject/failed.h"
#include "inject/real.h"
#include "inject/watching.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

void free_sized(void *p, size_t size);
void free_aligned_sized(void *p, size_t alignment, size_t size);

static OUTLINE void *malloc_recorded(size_t size)
{
    void *p = real.malloc(size);

    if (likely(p))
        event_alloc(p, size, RING_BY_MALLOC, CALLER());
    else
        failed_alloc("malloc", size, errno, CALLER());
    return p;
}

EXPORT void *malloc(size_t size)
{
    if (event_skip_alloc(size))
        return real.malloc(size);
    return malloc_recorded(size);
}

static OUTLINE void *calloc_recorded(size_t n, size_t size)
{
    void *p = real.calloc(n, size);

    if (likely(p))
        event_alloc(p, n * size, RING_BY_CALLOC, CALLER());
    else
        failed_alloc("calloc", failed_product(n, size), errno, CALLER());
    return p;
}

EXPORT void *calloc(size_t n, size_t size)
{
    if (event_skip_alloc(n * size))
        return real.calloc(n, size);
    return calloc_recorded(n, size);
}

static OUTLINE void free_recorded(void *p)
{
    if (p) {
        watching_freed(p, 0, CALLER());
        event_free(p, RING_BY_MALLOC, CALLER().sp);
    }
    real.free(p);
}

EXPORT void free(void *p)
{
    if (event_skip_free(p))
        real.free(p);
    else
        free_recorded(p);
}

EXPORT void free_sized(void *p, size_t size)
{
    (void)size;
    if (event_skip_free(p))
        real.free(p);
    else
        free_recorded(p);
}

EXPORT void free_aligned_sized(void *p, size_t alignment, size_t size)
{
    (void)alignment;
    (void)size;
    if (event_skip_free(p))
        real.free(p);
    else
        free_recorded(p);
}

static inline void *after_realloc(void *old, void *p, size_t size, bool freed, struct caller c)
{
    if (likely(p)) {
        event_alloc(p, size, RING_BY_REALLOC, c);
        return p;
    }
    if (freed && size)
        event_unfree(old, c.sp); /* the old block lives on */
    failed_alloc("realloc", size, size ? errno : 0, c);
    return p;
}

static OUTLINE void *realloc_recorded(void *old, size_t size)
{
    bool freed;

    if (old)
        watching_freed(old, 0, CALLER());
    freed = old && event_move(old, size, RING_BY_REALLOC, CALLER().sp);
    return after_realloc(old, real.realloc(old, size), size, freed, CALLER());
}

EXPORT void *realloc(void *old, size_t size)
{
    if (event_skip_alloc(size) && event_skip_free(old))
        return real.realloc(old, size);
    return realloc_recorded(old, size);
}

/* libc's calls realloc, which is our hook again: so it is done here. */
EXPORT void *reallocarray(void *old, size_t n, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    if (event_skip_alloc(bytes) && event_skip_free(old))
        return real.realloc(old, bytes);
    return realloc_recorded(old, bytes);
}
