/* double_mstx - a libms_tools_ext.so for tests: the functions of MSTX, which count what they are
 * told. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static uint64_t started;

void mstxMarkA(const char *name, void *stream)
{
    (void)name, (void)stream;
}

uint64_t mstxRangeStartA(const char *name, void *stream)
{
    return name && !stream ? ++started : 0;
}

void mstxRangeEnd(uint64_t id)
{
    started -= id > started;
}

/* Domains and pools: handles of a tool that listens, if MSTX_TOOL is set, else none, as without
 * one. */
static void *handle_of(uintptr_t number)
{
    return getenv("MSTX_TOOL") ? (void *)(0x5000 + number * 0x100) : NULL;
}

void *mstxDomainCreateA(const char *name)
{
    return name ? handle_of(1) : NULL;
}

void *mstxMemHeapRegister(void *domain, const void *described)
{
    static uintptr_t heaps = 1;

    (void)domain;
    return described ? handle_of(++heaps) : NULL;
}

void mstxMemHeapUnregister(void *domain, void *heap)
{
    (void)domain, (void)heap;
}

struct regions {
    void *heap;
    uint32_t type;
    size_t count;
    const void *described;
    void **handles;
};

void mstxMemRegionsRegister(void *domain, const struct regions *r)
{
    static uintptr_t regions = 100;

    (void)domain;
    for (size_t i = 0; r->handles && handle_of(1) && i < r->count; i++)
        r->handles[i] = handle_of(++regions);
}

void mstxMemRegionsUnregister(void *domain, const void *references)
{
    (void)domain, (void)references;
}
