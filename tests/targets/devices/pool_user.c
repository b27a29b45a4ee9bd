/* pool_user - a program that tells of its own pool: pool_user nvtx|mstx. The pool is "cache" (of
 * MSTX: on device 1).
 *
 * It reserves 64 MiB, hands out 10 and 20 MiB, (NVTX) makes the latter 24, takes the former back,
 * reserves 32 MiB more and hands out 8 of them, then gives these 32 MiB back whole. What it has
 * handed out last is a leak.
 *
 * NVTX's extension is done as its header does it: the library that the environment names is given
 * the slots of functions, which are called if they were filled.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1ull << 20)

static char *const at = (char *)(1ull << 40); /* nobody uses this memory */

/* ---- NVTX ---- */

enum { HEAP, HEAP_GONE, HEAP_RESET, REGIONS, RESIZE, REGIONS_GONE, SLOTS = 63 };

static intptr_t slots[SLOTS];

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
    const char *message;
};

struct regions {
    uint16_t version, size;
    uint32_t type;
    void *heap;
    size_t count, each;
    const struct range *described;
    void **handles;
};

struct resized {
    uint16_t version, size;
    uint32_t type;
    size_t count, each;
    const struct range *described;
};

struct references {
    uint16_t version, size;
    uint32_t type;
    size_t count, each;
    void *const *list;
};

static int inject(unsigned int module)
{
    struct {
        size_t id, count;
        intptr_t *slots;
    } segment = {1, SLOTS, slots};
    struct {
        uint16_t version, size, module, compatible;
        size_t count;
        void *segments, *exported;
        const void *more;
    } info = {3, sizeof(info), module, 0x0102, 1, &segment, NULL, NULL};
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*begin)(void *) = library ? dlsym(library, "InitializeInjectionNvtxExtension") : NULL;

    return begin && begin(&info);
}

static void *nvtx_heap(const char *name, uint32_t usage, const void *from, size_t bytes)
{
    struct range range = {bytes, from};
    struct heap h = {0x0102, sizeof(h), 0, usage, 1, sizeof(range), &range, 0, 1, name};

    return ((void *(*)(void *, const struct heap *))slots[HEAP])(NULL, &h);
}

static void nvtx_regions(void *heap, const struct range *ranges, size_t count, void **handles)
{
    struct regions r = {0x0102, sizeof(r), 1, heap, count, sizeof(*ranges), ranges, handles};

    ((void (*)(void *, const struct regions *))slots[REGIONS])(NULL, &r);
}

__attribute__((noinline)) static void nvtx_leak(void *heap)
{
    const struct range one = {24 * MIB, at + 10 * MIB};
    struct resized r = {0x0102, sizeof(r), 1, 1, sizeof(one), &one};

    (void)heap;
    ((void (*)(void *, const struct resized *))slots[RESIZE])(NULL, &r);
}

static int nvtx(void)
{
    const struct range two[] = {{10 * MIB, at}, {20 * MIB, at + 10 * MIB}};
    const struct range third = {8 * MIB, at + 64 * MIB};
    void *handles[2], *heap, *more, *layout;
    struct references gone = {0x0102, sizeof(gone), 2, 1, sizeof(void *), handles};

    if (inject(2) && slots[HEAP]) /* another extension, of which nothing is known */
        return 4;
    if (!inject(1))
        return 0; /* nobody listens */
    heap = nvtx_heap("cache", 1, at, 64 * MIB);
    nvtx_regions(heap, two, 2, handles);
    nvtx_leak(heap);
    ((void (*)(void *, const struct references *))slots[REGIONS_GONE])(NULL, &gone);
    more = nvtx_heap("cache", 1, at + 64 * MIB, 32 * MIB);
    nvtx_regions(more, &third, 1, NULL);
    ((void (*)(void *, void *))slots[HEAP_GONE])(NULL, more);
    layout = nvtx_heap("layout", 2, at, 64 * MIB); /* no pool */
    nvtx_regions(layout, &third, 1, NULL);
    return heap && more && heap != more ? 0 : 5;
}

/* ---- MSTX ---- */

struct mstx_range {
    uint32_t device;
    const void *at;
    uint64_t bytes;
};

static void *library;

static void *mstx_heap(void *domain, const void *from, uint64_t bytes)
{
    struct mstx_range range = {1, from, bytes};
    struct {
        uint32_t usage, type;
        const void *described;
    } h = {0, 0, &range};

    return ((void *(*)(void *, const void *))dlsym(library, "mstxMemHeapRegister"))(domain, &h);
}

static void mstx_regions(void *domain, void *heap, const struct mstx_range *ranges, size_t count,
                         void **handles)
{
    struct {
        void *heap;
        uint32_t type;
        size_t count;
        const void *described;
        void **handles;
    } r = {heap, 0, count, ranges, handles};

    ((void (*)(void *, const void *))dlsym(library, "mstxMemRegionsRegister"))(domain, &r);
}

__attribute__((noinline)) static void mstx_leak(void *domain, void *heap, void **handle)
{
    const struct mstx_range one = {1, at + 10 * MIB, 20 * MIB};

    mstx_regions(domain, heap, &one, 1, handle);
}

static int mstx(void)
{
    const struct mstx_range first = {1, at, 10 * MIB}, third = {1, at + 64 * MIB, 8 * MIB};
    void *domain, *heap, *more, *handles[2];
    struct {
        uint32_t type;
        void *value;
    } reference;
    struct {
        size_t count;
        const void *list;
    } gone = {1, &reference};

    library = dlopen("libms_tools_ext.so", RTLD_NOW);
    if (!library)
        return 3;
    domain = ((void *(*)(const char *))dlsym(library, "mstxDomainCreateA"))("cache");
    heap = mstx_heap(domain, at, 64 * MIB);
    mstx_regions(domain, heap, &first, 1, &handles[0]);
    mstx_leak(domain, heap, &handles[1]);
    reference.type = 1;
    reference.value = handles[0];
    ((void (*)(void *, const void *))dlsym(library, "mstxMemRegionsUnregister"))(domain, &gone);
    more = mstx_heap(domain, at + 64 * MIB, 32 * MIB);
    mstx_regions(domain, more, &third, 1, &handles[0]);
    ((void (*)(void *, void *))dlsym(library, "mstxMemHeapUnregister"))(domain, more);
    return 0;
}

int main(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[1], "mstx") == 0 ? mstx() : nvtx();
}
