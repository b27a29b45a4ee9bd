/* outside - see outside.h. */
#include "inject/outside.h"
#include "inject/objects.h"

#include "inject/mute.h"

#include <gnu/libc-version.h>
#include <stdatomic.h>

static struct real behind; /* of the functions below; the others are not used */

static void *guarded_malloc(size_t size)
{
    int64_t left = mute_begin();
    void *p = behind.malloc(size);

    mute_end(left);
    return p;
}

static void guarded_free(void *p)
{
    int64_t left = mute_begin();

    behind.free(p);
    mute_end(left);
}

static void *guarded_calloc(size_t n, size_t size)
{
    int64_t left = mute_begin();
    void *p = behind.calloc(n, size);

    mute_end(left);
    return p;
}

static void *guarded_realloc(void *old, size_t size)
{
    int64_t left = mute_begin();
    void *p = behind.realloc(old, size);

    mute_end(left);
    return p;
}

static int guarded_posix_memalign(void **out, size_t alignment, size_t size)
{
    int64_t left = mute_begin();
    int result = behind.posix_memalign(out, alignment, size);

    mute_end(left);
    return result;
}

static void *guarded_aligned_alloc(size_t alignment, size_t size)
{
    int64_t left = mute_begin();
    void *p = behind.aligned_alloc(alignment, size);

    mute_end(left);
    return p;
}

static void *guarded_memalign(size_t alignment, size_t size)
{
    int64_t left = mute_begin();
    void *p = behind.memalign(alignment, size);

    mute_end(left);
    return p;
}

static void *guarded_valloc(size_t size)
{
    int64_t left = mute_begin();
    void *p = behind.valloc(size);

    mute_end(left);
    return p;
}

static void *guarded_pvalloc(size_t size)
{
    int64_t left = mute_begin();
    void *p = behind.pvalloc(size);

    mute_end(left);
    return p;
}

#define GUARD(function)                                                                            \
    {                                                                                              \
        .at = offsetof(struct real, function), .guard = (uintptr_t)guarded_##function              \
    }
static const struct {
    size_t at;
    uintptr_t guard;
} guards[] = {
    GUARD(malloc),        GUARD(free),     GUARD(calloc), GUARD(realloc), GUARD(posix_memalign),
    GUARD(aligned_alloc), GUARD(memalign), GUARD(valloc), GUARD(pvalloc),
};
#define GUARDS (sizeof(guards) / sizeof(guards[0]))

static _Atomic uintptr_t *field(struct real *of, size_t i)
{
    return (_Atomic uintptr_t *)((char *)of + guards[i].at);
}

static const void *object_of(uintptr_t function)
{
    struct object o;

    return function && objects_find((const void *)function, &o) ? o.map : NULL;
}

/* Asked for once, when the real functions are looked for: later the caller may hold the lock of the
 * loader's list, and another thread wait for that with the one that dlsym takes.
 */
static const void *libc_object(void)
{
    static _Atomic(const void *) known;

    if (!atomic_load(&known))
        atomic_store(&known, object_of((uintptr_t)gnu_get_libc_version));
    return atomic_load(&known);
}

/* Where its object is not known, it is libc's: the early ones of real.c are ours. */
void outside_guard(struct real *of)
{
    const void *libc = libc_object();
    const void *ours = object_of((uintptr_t)outside_guard);

    for (size_t i = 0; libc && i < GUARDS; i++) {
        uintptr_t now = atomic_load(field(of, i));
        const void *object = object_of(now);

        if (!object || object == libc || object == ours)
            continue;
        atomic_store(field(&behind, i), now);
        atomic_store(field(of, i), guards[i].guard);
    }
}

uintptr_t outside_behind(uintptr_t function)
{
    for (size_t i = 0; i < GUARDS; i++)
        if (function == guards[i].guard)
            return atomic_load(field(&behind, i));
    return function;
}

const void *outside_object(uintptr_t guarded)
{
    uintptr_t other = outside_behind(guarded);

    return guarded == other ? NULL : object_of(other);
}
