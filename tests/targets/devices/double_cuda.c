/* double_cuda - a libcuda.so.1 for tests: documented functions of the driver API over host memory.
 */
#include "double.h"

#include <dlfcn.h>
#include <stdio.h>

typedef int result;
typedef unsigned long long pointer;

enum { DONE = 0, INVALID = 1, NO_MEMORY = 2, NO_DEVICE = 101, NOT_FOUND = 500 };

#define DEVICES 2

static struct context {
    int device, active;
} primary[DEVICES], others[8];
static __thread struct context *current;
static __thread int calls_of_itself;

result cuInit(unsigned int flags)
{
    return flags ? INVALID : DONE;
}

result cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
    return ordinal >= 0 && ordinal < DEVICES ? DONE : NO_DEVICE;
}

result cuDevicePrimaryCtxRetain(struct context **c, int device)
{
    primary[device].device = device;
    primary[device].active++;
    *c = &primary[device];
    return DONE;
}

result cuDevicePrimaryCtxGetState(int device, unsigned int *flags, int *active)
{
    *flags = 0;
    *active = primary[device].active > 0;
    return DONE;
}

result cuDevicePrimaryCtxReset_v2(int device)
{
    primary[device].active = 0;
    double_end(&primary[device]);
    return DONE;
}

result cuDevicePrimaryCtxRelease_v2(int device)
{
    if (--primary[device].active == 0)
        double_end(&primary[device]);
    return DONE;
}

result cuCtxCreate_v2(struct context **c, unsigned int flags, int device)
{
    for (int i = 0; i < 8; i++) {
        if (others[i].active)
            continue;
        others[i] = (struct context){device, 1};
        *c = current = &others[i];
        return DONE;
    }
    return flags ? INVALID : NO_MEMORY;
}

result cuCtxDestroy_v2(struct context *c)
{
    if (!c || !c->active)
        return INVALID;
    c->active = 0;
    double_end(c);
    if (current == c)
        current = NULL;
    return DONE;
}

result cuCtxSetCurrent(struct context *c)
{
    current = c;
    return DONE;
}

result cuCtxGetCurrent(struct context **c)
{
    *c = current;
    return DONE;
}

result cuCtxGetDevice(int *device)
{
    if (!current)
        return 201;
    *device = current->device;
    return DONE;
}

static result take(pointer *p, size_t bytes)
{
    void *at = double_take(bytes, current);

    if (at)
        *p = (pointer)(uintptr_t)at;
    return at ? DONE : NO_MEMORY;
}

result cuMemAlloc_v2(pointer *p, size_t bytes)
{
    return bytes ? take(p, bytes) : INVALID;
}

result cuMemFree_v2(pointer p)
{
    return !p || double_give((void *)(uintptr_t)p) ? DONE : INVALID;
}

/* The library calls itself by its public name, as some do. */
result cuMemAllocPitch_v2(pointer *p, size_t *pitch, size_t width, size_t height, unsigned int size)
{
    result r;

    (void)size;
    *pitch = (width + 511) & ~(size_t)511;
    calls_of_itself++;
    r = cuMemAlloc_v2(p, *pitch * height);
    calls_of_itself--;
    return r;
}

result cuMemAllocManaged(pointer *p, size_t bytes, unsigned int flags)
{
    (void)flags;
    return take(p, bytes);
}

result cuMemAllocAsync(pointer *p, size_t bytes, void *stream)
{
    (void)stream;
    return take(p, bytes);
}

/* A pool is 1 + the number of its device, which has its blocks; 0: that of the current one. */
result cuMemAllocFromPoolAsync(pointer *p, size_t bytes, void *pool, void *stream)
{
    struct context *here = current;
    result r;

    (void)stream;
    if (pool) {
        current = &primary[(uintptr_t)pool - 1];
        current->device = (int)(uintptr_t)pool - 1;
    }
    r = take(p, bytes);
    current = here;
    return r;
}

result cuPointerGetAttribute(void *data, int attribute, pointer p)
{
    const struct context *c = double_owner((void *)(uintptr_t)p);

    if (attribute != 9 || !c)
        return INVALID;
    *(int *)data = c->device;
    return DONE;
}

result cuMemFreeAsync(pointer p, void *stream)
{
    (void)stream;
    return cuMemFree_v2(p);
}

result cuMemHostAlloc(void **p, size_t bytes, unsigned int flags)
{
    (void)flags;
    *p = double_take(bytes, current);
    return *p ? DONE : NO_MEMORY;
}

result cuMemFreeHost(void *p)
{
    return double_give(p) ? DONE : INVALID;
}

/* Physical memory lives until it is released and mapped nowhere. */
struct physical {
    void *at;
    int holds;
};

static struct {
    pointer at;
    struct physical *of;
} mappings[64];

static void let_go(struct physical *h)
{
    if (--h->holds)
        return;
    double_give(h->at);
    free(h);
}

result cuMemCreate(struct physical **h, size_t bytes, const void *prop, unsigned long long flags)
{
    void *at = double_take(bytes, prop); /* of no context */

    (void)flags;
    if (!at)
        return NO_MEMORY;
    *h = malloc(sizeof(**h));
    **h = (struct physical){at, 1};
    return DONE;
}

result cuMemRelease(struct physical *h)
{
    let_go(h);
    return DONE;
}

result cuMemMap(pointer at, size_t bytes, size_t offset, struct physical *h,
                unsigned long long flags)
{
    (void)bytes, (void)offset, (void)flags;
    for (int i = 0; i < 64; i++) {
        if (mappings[i].of)
            continue;
        mappings[i].at = at;
        mappings[i].of = h;
        h->holds++;
        return DONE;
    }
    return NO_MEMORY;
}

result cuMemUnmap(pointer at, size_t bytes)
{
    for (int i = 0; i < 64; i++) {
        if (!mappings[i].of || mappings[i].at < at || mappings[i].at >= at + bytes)
            continue;
        let_go(mappings[i].of);
        mappings[i].of = NULL;
    }
    return DONE;
}

result cuMemAddressReserve(pointer *p, size_t bytes, size_t align, pointer at,
                           unsigned long long flags)
{
    (void)align, (void)at, (void)flags;
    *p = (pointer)(uintptr_t)mmap(NULL, bytes, PROT_NONE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return DONE;
}

struct array {
    void *at;
};

result cuArrayCreate_v2(struct array **a, const void *descriptor)
{
    const struct {
        size_t width, height;
        unsigned int format, channels;
    } *d = descriptor;
    void *at = double_take(d->width * (d->height ? d->height : 1) * 4 * d->channels, current);

    if (!at)
        return NO_MEMORY;
    *a = malloc(sizeof(**a));
    (*a)->at = at;
    return DONE;
}

result cuArrayDestroy(struct array *a)
{
    double_give(a->at);
    free(a);
    return DONE;
}

result cuLaunchKernel(void *function, unsigned int gx, unsigned int gy, unsigned int gz,
                      unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                      void *stream, void **parameters, void **extra)
{
    (void)function, (void)by, (void)bz, (void)stream, (void)extra;
    /* what lies on the stack must arrive as it was sent */
    return gx == 1 && gy == 2 && gz == 3 && bx == 4 && shared == 8 && parameters ? DONE : INVALID;
}

result cuFuncGetName(const char **name, void *function)
{
    (void)function;
    *name = "kernel_of_tests";
    return DONE;
}

result cuGetProcAddress_v2(const char *name, void **p, int version, unsigned long long flags,
                           int *status)
{
    static const char *const endings[] = {"_v2", ""};
    static void *self;
    Dl_info info;
    char full[128];

    (void)flags;
    if (!self && dladdr((void *)cuInit, &info))
        self = dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    *p = NULL;
    for (int i = version < 3020; i < 2 && !*p; i++) {
        snprintf(full, sizeof(full), "%s%s", name, endings[i]);
        *p = dlsym(self, full);
    }
    if (status)
        *status = *p ? 0 : 1;
    return *p ? DONE : NOT_FOUND;
}

result cuGetProcAddress(const char *name, void **p, int version, unsigned long long flags)
{
    return cuGetProcAddress_v2(name, p, version, flags, NULL);
}
