/* nvtx_memory - NVTX's extension for memory (nvToolsExtMem.h), by which a program tells of its
 * pools. It is asked for apart from NVTX itself: at its first call it hands over the slots of its
 * functions.
 */
#include "inject/nvtx_text.h"
#include "inject/pool_memory.h"
#include "inject/process.h"
#include "inject/ranges.h"

#include <stdatomic.h>
#include <stddef.h>

#define MODULE 1u
#define COMPATIBLE 0x0102u /* of the module */
#define LAYOUT 2u          /* a heap that shows how memory is used, and is no pool */
#define ADDRESSES 1u       /* memory that is known by its address; others are not known */

struct range {
    size_t bytes;
    const void *at;
};

struct heap {
    uint16_t version, size;
    uint32_t reserved, usage, type;
    size_t described_bytes;
    const struct range *described;
    uint32_t category, message_type;
    const void *message;
};

struct regions {
    uint16_t version, size;
    uint32_t type;
    uintptr_t heap;
    size_t count, each;
    const char *described;
    uintptr_t *handles;
};

struct resized {
    uint16_t version, size;
    uint32_t type;
    size_t count, each;
    const char *described;
};

struct references {
    uint16_t version, size;
    uint32_t type;
    size_t count, each;
    const char *list;
};

/* A domain is a name that lasts (nvtx.c); NULL is the program itself. */
static const char *domain_name(const struct ranges_name *domain)
{
    return domain ? domain->text : NULL;
}

static uintptr_t heap_register(const struct ranges_name *domain, const struct heap *h)
{
    static _Atomic uintptr_t made = 1;
    uintptr_t heap = atomic_fetch_add(&made, 1) << 4;
    char room[NVTX_TEXT_MOST];
    const char *name;

    if (!h || h->usage == LAYOUT || h->type != ADDRESSES || !h->described) {
        pool_heap_other(POOL_NVTX, heap);
        return heap;
    }
    name = nvtx_text((int32_t)h->message_type, h->message, room);
    pool_heap(POOL_NVTX, heap, name && *name ? name : domain_name(domain), POOL_NO_DEVICE,
              (uintptr_t)h->described->at, h->described->bytes, CALLER());
    return heap;
}

static void heap_unregister(const void *domain, uintptr_t heap)
{
    (void)domain;
    pool_heap_reset(POOL_NVTX, heap, true, CALLER());
}

static void heap_reset(const void *domain, uintptr_t heap)
{
    (void)domain;
    pool_heap_reset(POOL_NVTX, heap, false, CALLER());
}

/* A region's handle is its address. */
static void regions_register(const struct ranges_name *domain, const struct regions *r)
{
    struct caller c = CALLER();

    if (!r || r->type != ADDRESSES || r->each < sizeof(struct range))
        return;
    for (size_t i = 0; i < r->count; i++) {
        const struct range *one = (const void *)(r->described + i * r->each);

        pool_region(POOL_NVTX, r->heap, domain_name(domain), (uintptr_t)one->at, one->bytes, c);
        if (r->handles)
            r->handles[i] = (uintptr_t)one->at;
    }
}

static void regions_resize(const void *domain, const struct resized *r)
{
    struct caller c = CALLER();

    (void)domain;
    for (size_t i = 0; r && r->type == ADDRESSES && i < r->count; i++) {
        const struct range *one = (const void *)(r->described + i * r->each);

        pool_region_resized(POOL_NVTX, (uintptr_t)one->at, one->bytes, c);
    }
}

static void regions_unregister(const void *domain, const struct references *r)
{
    struct caller c = CALLER();

    (void)domain;
    for (size_t i = 0; r && i < r->count; i++)
        pool_region_gone(POOL_NVTX, *(const uintptr_t *)(const void *)(r->list + i * r->each), c);
}

/* ---- the injection ---- */

struct segment {
    size_t id, count;
    intptr_t *slots;
};

struct module {
    uint16_t version, size, id, compatible;
    size_t count;
    struct segment *segments;
    void *exported;
    const void *more;
};

typedef void function(void);

static function *const ours[] = {
    (function *)heap_register,    (function *)heap_unregister, (function *)heap_reset,
    (function *)regions_register, (function *)regions_resize,  (function *)regions_unregister,
};

int InitializeInjectionNvtxExtension(const struct module *m);

/* Functions of other extensions do nothing. That is no failure: a program would take it for
 * nobody's listening to NVTX at all (nvtxDomainIsEnabled).
 */
EXPORT int InitializeInjectionNvtxExtension(const struct module *m)
{
    if (!process_recorded() || !m || m->size < sizeof(*m))
        return 0;
    if (m->id != MODULE || m->compatible != COMPATIBLE || !m->count || !m->segments)
        return 1;
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]) && i < m->segments->count; i++)
        m->segments->slots[i] = (intptr_t)ours[i];
    return 1;
}
