/* pluggable - functions that PyTorch's CUDAPluggableAllocator can be given, so that its blocks are
 * the driver's, one by one, and not parts of a pool:
 *
 *     torch.cuda.memory.CUDAPluggableAllocator(library, "tidemark_cuda_malloc",
 * "tidemark_cuda_free")
 */
#include "inject/device.h"

#include <string.h>
#include <sys/types.h>

void *tidemark_cuda_malloc(ssize_t bytes, int device, void *stream);
void tidemark_cuda_free(void *p, ssize_t bytes, int device, void *stream);

/* As the program would call it, so that it is recorded; 0: no driver is loaded. */
static uintptr_t function(const char *name)
{
    const struct device_call *call;
    uintptr_t ours, real;

    for (size_t i = 0; (call = device_stub_at(i, &ours, &real)); i++)
        if (strcmp(call->name, name) == 0)
            return ours;
    return 0;
}

EXPORT void *tidemark_cuda_malloc(ssize_t bytes, int device, void *stream)
{
    int (*alloc)(uint64_t *, size_t) = (int (*)(uint64_t *, size_t))function("cuMemAlloc_v2");
    uint64_t p = 0;

    (void)device, (void)stream; /* the device is current, and no block is used before it is there */
    return alloc && bytes > 0 && alloc(&p, (size_t)bytes) == 0 ? (void *)(uintptr_t)p : NULL;
}

EXPORT void tidemark_cuda_free(void *p, ssize_t bytes, int device, void *stream)
{
    int (*give)(uint64_t) = (int (*)(uint64_t))function("cuMemFree_v2");

    (void)bytes, (void)device, (void)stream;
    if (give && p)
        give((uintptr_t)p);
}
