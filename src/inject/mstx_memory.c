/* mstx_memory - see mstx_memory.h.
 *
 * Without a tool that listens, the library returns no handles, and programs then tell nothing more.
 * So they get ours, which the library hands on to nobody.
 */
#include "inject/mstx_memory.h"

#include "inject/lookup.h"
#include "inject/pool_memory.h"
#include "inject/ranges.h"

#include <stdatomic.h>
#include <stddef.h>

struct range {
    uint32_t device;
    const void *at;
    uint64_t bytes;
};

struct heap {
    uint32_t usage, type; /* both 0: a pool, of memory that is known by its address */
    const struct range *described;
};

struct regions {
    uintptr_t heap;
    uint32_t type;
    size_t count;
    const struct range *described;
    uintptr_t *handles;
};

struct reference {
    uint32_t is_handle;
    uintptr_t value;
};

struct references {
    size_t count;
    const struct reference *list;
};

static struct lookup domains; /* handle -> its name */
static struct lookup handles; /* of a region, by somebody else -> its address */
static _Atomic bool unheard;  /* no tool gives handles */

static const char *domain_name(uintptr_t domain)
{
    uint64_t name;

    return domain > 1 && lookup_get(&domains, domain, &name) ? (const char *)(uintptr_t)name : NULL;
}

uintptr_t mstx_domain(const uintptr_t *a, uintptr_t result, struct caller c)
{
    const struct ranges_name *name = ranges_name((const char *)a[0]);
    uintptr_t domain = result ? result : (uintptr_t)name;

    (void)c;
    if (name)
        lookup_set(&domains, domain, (uintptr_t)name->text);
    return domain;
}

uintptr_t mstx_heap(const uintptr_t *a, uintptr_t result, struct caller c)
{
    static _Atomic uintptr_t made = 1;
    const struct heap *h = (const struct heap *)a[1];
    uintptr_t heap = result ? result : atomic_fetch_add(&made, 1) << 4;

    if (!h || h->usage || h->type || !h->described)
        return result;
    atomic_store(&unheard, !result);
    pool_heap(POOL_MSTX, heap, domain_name(a[0]), h->described->device, (uintptr_t)h->described->at,
              h->described->bytes, c);
    return heap;
}

uintptr_t mstx_heap_gone(const uintptr_t *a, uintptr_t result, struct caller c)
{
    pool_heap_reset(POOL_MSTX, a[1], true, c);
    return result;
}

uintptr_t mstx_regions(const uintptr_t *a, uintptr_t result, struct caller c)
{
    const struct regions *r = (const struct regions *)a[1];

    for (size_t i = 0; r && !r->type && r->described && i < r->count; i++) {
        const struct range *one = &r->described[i];
        uintptr_t address = (uintptr_t)one->at;

        pool_region(POOL_MSTX, r->heap, domain_name(a[0]), address, one->bytes, c);
        if (!r->handles)
            continue;
        if (atomic_load(&unheard))
            r->handles[i] = address;
        lookup_set(&handles, r->handles[i], address);
    }
    return result;
}

uintptr_t mstx_regions_gone(const uintptr_t *a, uintptr_t result, struct caller c)
{
    const struct references *r = (const struct references *)a[1];

    for (size_t i = 0; r && r->list && i < r->count; i++) {
        uint64_t address = r->list[i].value;

        if (r->list[i].is_handle)
            lookup_remove(&handles, address, &address);
        pool_region_gone(POOL_MSTX, address, c);
    }
    return result;
}
