/* nvml - see nvml.h. */
#include "gauges/nvml.h"

#include "base/count.h"
#include "gauges/library.h"

#include <stdio.h>

_Static_assert(NVML_MEMORY2 == 0x02000028, "the library knows the second version by this word");
_Static_assert(sizeof(struct nvml_process_work) == 32, "as the library has it");

struct nvml nvml;

static const struct library_function functions[] = {
    {"nvmlInit_v2 nvmlInit", &nvml.init, true},
    {"nvmlDeviceGetCount_v2 nvmlDeviceGetCount", &nvml.count, true},
    {"nvmlDeviceGetHandleByIndex_v2 nvmlDeviceGetHandleByIndex", &nvml.handle, true},
    {"nvmlErrorString", &nvml.error, false},
    {"nvmlDeviceGetName", &nvml.name, false},
    {"nvmlDeviceGetUUID", &nvml.uuid, false},
    {"nvmlDeviceGetPciInfo_v3 nvmlDeviceGetPciInfo_v2 nvmlDeviceGetPciInfo", &nvml.pci, false},
    {"nvmlDeviceGetMemoryInfo", &nvml.memory1, false},
    {"nvmlDeviceGetMemoryInfo_v2", &nvml.memory2, false},
    {"nvmlDeviceGetUtilizationRates", &nvml.work, false},
    {"nvmlDeviceGetProcessUtilization", &nvml.work_of, false},
    {"nvmlSystemGetDriverVersion", &nvml.version, false},
    {"nvmlDeviceGetMigMode", &nvml.mig_mode, false},
    {"nvmlDeviceGetMaxMigDeviceCount", &nvml.mig_most, false},
    {"nvmlDeviceGetMigDeviceHandleByIndex", &nvml.mig, false},
};

/* Not without the 1: that name is of the development package, whose library answers nothing. */
static const char *const names[] = {"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1",
                                    NULL};

bool nvml_open(char *why, size_t room)
{
    const char *text = NULL;
    int failed;

    if (!library_load(names, functions, COUNT(functions), why, room))
        return false;
    failed = nvml.init();
    if (failed && nvml.error)
        text = nvml.error(failed);
    if (failed)
        snprintf(why, room, "NVML does not start: %.120s (%d)", text ? text : "it gives no reason",
                 failed);
    return !failed;
}
