/* nvtx_pool - what pool_user does with NVTX, by the real header, which is not ours: the test
 * compiles it where that can be had. In a domain "cache"; the heaps have no names of their own.
 */
#include <nvtx3/nvToolsExtMem.h>

#define MIB ((size_t)1 << 20)

static char *const at = (char *)((size_t)1 << 40); /* nobody uses this memory */
static nvtxDomainHandle_t domain;

static nvtxMemHeapHandle_t heap(const void *from, size_t bytes)
{
    nvtxMemVirtualRangeDesc_t range = {bytes, from};
    nvtxMemHeapDesc_t h = {0};

    h.extCompatID = NVTX_EXT_COMPATID_MEM;
    h.structSize = sizeof(h);
    h.usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR;
    h.type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
    h.typeSpecificDescSize = sizeof(range);
    h.typeSpecificDesc = &range;
    return nvtxMemHeapRegister(domain, &h);
}

static void hand_out(nvtxMemHeapHandle_t from, const nvtxMemVirtualRangeDesc_t *ranges,
                     size_t count, nvtxMemRegionHandle_t *handles)
{
    nvtxMemRegionsRegisterBatch_t r = {0};

    r.extCompatID = NVTX_EXT_COMPATID_MEM;
    r.structSize = sizeof(r);
    r.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
    r.heap = from;
    r.regionCount = count;
    r.regionDescElementSize = sizeof(*ranges);
    r.regionDescElements = ranges;
    r.regionHandleElementsOut = handles;
    nvtxMemRegionsRegister(domain, &r);
}

static __attribute__((noinline)) void nvtx_leak(void)
{
    nvtxMemVirtualRangeDesc_t one = {24 * MIB, at + 10 * MIB};
    nvtxMemRegionsResizeBatch_t r = {0};

    r.extCompatID = NVTX_EXT_COMPATID_MEM;
    r.structSize = sizeof(r);
    r.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
    r.regionDescCount = 1;
    r.regionDescElementSize = sizeof(one);
    r.regionDescElements = &one;
    nvtxMemRegionsResize(domain, &r);
}

int main(void)
{
    const nvtxMemVirtualRangeDesc_t two[] = {{10 * MIB, at}, {20 * MIB, at + 10 * MIB}};
    const nvtxMemVirtualRangeDesc_t third = {8 * MIB, at + 64 * MIB};
    nvtxMemRegionHandle_t handles[2] = {0};
    nvtxMemRegionsUnregisterBatch_t gone = {0};
    nvtxMemRegionRef_t reference;
    nvtxMemHeapHandle_t first, second;

    domain = nvtxDomainCreateA("cache");
    first = heap(at, 64 * MIB);
    hand_out(first, two, 2, handles);
    nvtx_leak();
    reference.pointer = at;
    gone.extCompatID = NVTX_EXT_COMPATID_MEM;
    gone.structSize = sizeof(gone);
    gone.refType = NVTX_MEM_REGION_REF_TYPE_POINTER;
    gone.refCount = 1;
    gone.refElementSize = sizeof(reference);
    gone.refElements = &reference;
    nvtxMemRegionsUnregister(domain, &gone);
    second = heap(at + 64 * MIB, 32 * MIB);
    hand_out(second, &third, 1, NULL);
    nvtxMemHeapUnregister(domain, second);
    nvtxMemPermissionsReset(domain, NVTX_MEM_PERMISSIONS_HANDLE_PROCESS_WIDE); /* not ours */
    return 0;
}
