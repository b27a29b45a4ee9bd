/* device_ranges - libraries to which programs say what they do, and nothing else: ROCTX and MSTX.
 * They are tables as those of allocations; `class` is what is said.
 */
#include "inject/device.h"
#include "inject/mstx_memory.h"
#include "inject/ranges.h"

enum { PUSH, POP, MARK, START, STOP };

// clang-format off
#define SAYS(call, what, argument) \
    {.name = call, .does = DEVICE_SAYS, .class = what, .handle = argument}

#define TELLS(call, function) {.name = call, .does = DEVICE_SAYS, .said = function}

static const struct device_call roctx[] = {
    SAYS("roctxRangePushA", PUSH, 0),
    SAYS("roctxRangePop", POP, 0),
    SAYS("roctxMarkA", MARK, 0),
    SAYS("roctxRangeStartA", START, 0),
    SAYS("roctxRangeStop", STOP, 0),
};

static const struct device_call mstx[] = {
    SAYS("mstxMarkA", MARK, 0),
    SAYS("mstxRangeStartA", START, 0),
    SAYS("mstxRangeEnd", STOP, 0),
    SAYS("mstxDomainMarkA", MARK, 1),
    SAYS("mstxDomainRangeStartA", START, 1),
    SAYS("mstxDomainRangeEnd", STOP, 1),
    TELLS("mstxDomainCreateA", mstx_domain),
    TELLS("mstxMemHeapRegister", mstx_heap),
    TELLS("mstxMemHeapUnregister", mstx_heap_gone),
    TELLS("mstxMemRegionsRegister", mstx_regions),
    TELLS("mstxMemRegionsUnregister", mstx_regions_gone),
};
// clang-format on

static const char *const roctx_files[] = {"libroctx64.so", "librocprofiler-sdk-roctx.so", NULL};
static const char *const mstx_files[] = {"libms_tools_ext.so", NULL};

const struct device_vendor device_roctx = {
    .files = roctx_files,
    .calls = roctx,
    .count = sizeof(roctx) / sizeof(roctx[0]),
    .number = RANGES_ROCTX,
};
const struct device_vendor device_mstx = {
    .files = mstx_files,
    .calls = mstx,
    .count = sizeof(mstx) / sizeof(mstx[0]),
    .number = RANGES_MSTX,
};

uintptr_t device_said(const struct device_call *call, const struct device_vendor *v,
                      const uintptr_t *a, uintptr_t result, struct caller c)
{
    const char *name = (const char *)a[call->handle];

    if (call->said)
        return call->said(a, result, c);
    switch (call->class) {
    case PUSH:
        ranges_push(name);
        break;
    case POP:
        ranges_pop();
        break;
    case MARK:
        ranges_mark(name, 0);
        break;
    case START:
        ranges_start(RANGES_OF(v->number) | result, name);
        break;
    default:
        ranges_stop(RANGES_OF(v->number) | a[call->handle]);
    }
    return result;
}
