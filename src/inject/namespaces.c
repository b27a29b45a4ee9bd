/* namespaces - the malloc family for namespaces of their own (dlmopen), each of which has a libc
 * and so an allocator of its own: a block must go back to where it came from. See got.h.
 *
 * Calls from there are rare enough not to be bent to the last nanosecond: no jumps as in hooks.c.
 */
#include "inject/namespaces.h"

#include "inject/event.h"
#include "inject/real.h"

static struct real reals[NAMESPACES];

static inline void *seen(void *p, size_t size, enum ring_origin origin, struct caller c)
{
    if (p && !event_skip_alloc(size))
        event_alloc(p, size, origin, c);
    return p;
}

static inline bool gone(const void *p, enum ring_origin origin, uintptr_t frame)
{
    return p && !event_skip_free(p) && event_free(p, origin, frame);
}

static inline void *moved(const struct real *r, void *old, size_t size, struct caller c)
{
    bool freed = gone(old, RING_BY_REALLOC, c.sp);
    void *p = r->realloc(old, size);

    if (!p && freed && size)
        event_unfree(old, c.sp);
    return seen(p, size, RING_BY_REALLOC, c);
}

#define SPACE(n)                                                                                   \
    static void *malloc_##n(size_t size)                                                           \
    {                                                                                              \
        return seen(reals[n].malloc(size), size, RING_BY_MALLOC, CALLER());                        \
    }                                                                                              \
    static void free_##n(void *p)                                                                  \
    {                                                                                              \
        gone(p, RING_BY_MALLOC, CALLER().sp);                                                      \
        reals[n].free(p);                                                                          \
    }                                                                                              \
    static void *calloc_##n(size_t count, size_t size)                                             \
    {                                                                                              \
        return seen(reals[n].calloc(count, size), count * size, RING_BY_CALLOC, CALLER());         \
    }                                                                                              \
    static void *realloc_##n(void *old, size_t size)                                               \
    {                                                                                              \
        return moved(&reals[n], old, size, CALLER());                                              \
    }                                                                                              \
    static int posix_memalign_##n(void **out, size_t alignment, size_t size)                       \
    {                                                                                              \
        int result = reals[n].posix_memalign(out, alignment, size);                                \
                                                                                                   \
        if (!result)                                                                               \
            seen(*out, size, RING_BY_ALIGNED, CALLER());                                           \
        return result;                                                                             \
    }                                                                                              \
    static void *aligned_alloc_##n(size_t alignment, size_t size)                                  \
    {                                                                                              \
        return seen(reals[n].aligned_alloc(alignment, size), size, RING_BY_ALIGNED, CALLER());     \
    }                                                                                              \
    static void *memalign_##n(size_t alignment, size_t size)                                       \
    {                                                                                              \
        return seen(reals[n].memalign(alignment, size), size, RING_BY_ALIGNED, CALLER());          \
    }                                                                                              \
    static void *valloc_##n(size_t size)                                                           \
    {                                                                                              \
        return seen(reals[n].valloc(size), size, RING_BY_ALIGNED, CALLER());                       \
    }                                                                                              \
    static void *pvalloc_##n(size_t size)                                                          \
    {                                                                                              \
        return seen(reals[n].pvalloc(size), size, RING_BY_ALIGNED, CALLER());                      \
    }

SPACE(0)
SPACE(1)
SPACE(2)
SPACE(3)

#define HOOK(function, n)                                                                          \
    {                                                                                              \
        .name = #function, .ours = (uintptr_t)function##_##n                                       \
    }
#define HOOKS(n)                                                                                   \
    {                                                                                              \
        HOOK(malloc, n), HOOK(free, n), HOOK(calloc, n), HOOK(realloc, n),                         \
            HOOK(posix_memalign, n), HOOK(aligned_alloc, n), HOOK(memalign, n), HOOK(valloc, n),   \
            HOOK(pvalloc, n)                                                                       \
    }

const struct got_hook namespaces[NAMESPACES][NAMESPACE_HOOKS] = {HOOKS(0), HOOKS(1), HOOKS(2),
                                                                 HOOKS(3)};

void namespaces_real(unsigned int place, unsigned int hook, uintptr_t address)
{
    struct real *r = &reals[place];
    uintptr_t *const to[NAMESPACE_HOOKS] = {
        (uintptr_t *)&r->malloc,   (uintptr_t *)&r->free,           (uintptr_t *)&r->calloc,
        (uintptr_t *)&r->realloc,  (uintptr_t *)&r->posix_memalign, (uintptr_t *)&r->aligned_alloc,
        (uintptr_t *)&r->memalign, (uintptr_t *)&r->valloc,         (uintptr_t *)&r->pvalloc,
    };

    if (address)
        *to[hook] = address;
}
