/* device_ascend_runtime - Ascend's runtime (rt...) and ACL above it (aclrt...): what they launch.
 * What they allocate comes down to the HAL (device_ascend.c), where it is counted. One of them that
 * calls the other is one launch.
 */
#include "inject/device.h"

#include <string.h>

/* aclrtGetFunctionName(function, room, name), which ACL has since CANN 8 */
static void function_name(struct device_library *l, uintptr_t function, char *name, size_t room)
{
    int (*ask)(uintptr_t, uint32_t,
               char *) = (int (*)(uintptr_t, uint32_t, char *))l->helpers[DEVICE_ASKED];

    if (ask && ask(function, (uint32_t)room, name) != 0)
        name[0] = '\0';
}

/* Of what runs on the device's own CPUs the name is an argument. */
static void name_itself(struct device_library *l, uintptr_t text, char *name, size_t room)
{
    (void)l;
    if (text)
        memcpy(name, (const char *)text, strnlen((const char *)text, room));
}

// clang-format off
#define LAUNCH(call, ...) {.name = call, .does = DEVICE_LAUNCHES, __VA_ARGS__}

static const struct device_call calls[] = {
    LAUNCH("aclrtLaunchKernel", .named = function_name),
    LAUNCH("aclrtLaunchKernelV2", .named = function_name),
    LAUNCH("aclrtLaunchKernelWithConfig", .named = function_name),
    LAUNCH("aclrtLaunchKernelWithHostArgs", .named = function_name),
    LAUNCH("aclrtLaunchKernelImpl", .named = function_name),
    LAUNCH("aclrtLaunchKernelV2Impl", .named = function_name),
    LAUNCH("aclrtLaunchKernelWithConfigImpl", .named = function_name),
    LAUNCH("aclrtLaunchKernelWithHostArgsImpl", .named = function_name),
    LAUNCH("rtKernelLaunch"),
    LAUNCH("rtKernelLaunchWithFlag"),
    LAUNCH("rtKernelLaunchWithFlagV2"),
    LAUNCH("rtKernelLaunchWithHandle"),
    LAUNCH("rtKernelLaunchWithHandleV2"),
    LAUNCH("rtKernelLaunchEx"),
    LAUNCH("rtAicpuKernelLaunchExWithArgs", .handle = 1, .named = name_itself),
    LAUNCH("rtCpuKernelLaunchWithFlag"),
    LAUNCH("rtLaunchKernelByFuncHandle"),
    LAUNCH("rtLaunchKernelByFuncHandleV2"),
    LAUNCH("rtLaunchKernelByFuncHandleV3"),
    LAUNCH("rtVectorCoreKernelLaunch"),
    LAUNCH("rtVectorCoreKernelLaunchWithHandle"),
};
// clang-format on

static const char *const files[] = {"libascendcl.so",    "libascendcl_impl.so", "libacl_rt.so",
                                    "libacl_rt_impl.so", "libruntime.so",       NULL};

const struct device_vendor device_ascend_runtime = {
    .files = files,
    .device = "ascend",
    .calls = calls,
    .count = sizeof(calls) / sizeof(calls[0]),
    .helpers = {[DEVICE_ASKED] = "aclrtGetFunctionName"},
    .number = 5,
};
