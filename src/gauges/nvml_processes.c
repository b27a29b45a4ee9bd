/* nvml_processes - the lists of processes that NVML has of a device. See nvml.h.
 *
 * A record is a pid, its memory and, since some version, more; how long it is depends on the driver
 * and not on the function's name alone, so it is measured.
 */
#include "gauges/nvml.h"

#include "base/count.h"
#include "base/memory.h"
#include "gauges/library.h"

#include <stdio.h>
#include <string.h>

#define RECORD_MOST 64 /* bytes; the longest that was seen is 32 */
#define RECORDS_MOST 65536u
#define SPARE 16u

typedef int list_function(nvml_device, unsigned int *, void *);

/* A process may be in several: what it holds is the same in each. */
static const char *const lists[] = {"nvmlDeviceGetComputeRunningProcesses",
                                    "nvmlDeviceGetGraphicsRunningProcesses",
                                    "nvmlDeviceGetMPSComputeRunningProcesses"};
static const char *const versions[] = {"_v3", "_v2", ""};

static struct {
    list_function *version[COUNT(versions)];
    int first; /* those before it do not work here */
    bool known;
} functions[COUNT(lists)];

static unsigned char *room;
static size_t room_bytes;
static unsigned int records = SPARE; /* that the next list may have */

size_t nvml_stride(const unsigned char *bytes, size_t size, size_t count)
{
    size_t each;

    while (size && bytes[size - 1] == NVML_BLANK)
        size--;
    each = count ? (size + count - 1) / count : 0;
    return each <= 16 ? 16 : each <= 24 ? 24 : each <= 32 ? 32 : (each + 7) / 8 * 8;
}

static void look_up(int list)
{
    char name[96];

    for (int v = 0; v < COUNT(versions); v++) {
        void *found;

        snprintf(name, sizeof(name), "%s%s", lists[list], versions[v]);
        found = library_find(name);
        memcpy(&functions[list].version[v], &found, sizeof(found));
    }
    functions[list].known = true;
}

/* Asks with room for as many as there were; once more, if there are more. */
static int call(list_function *f, nvml_device handle, unsigned int *count)
{
    int result = NVML_TOO_SMALL;

    for (int i = 0; i < 4 && result == NVML_TOO_SMALL; i++) {
        size_t bytes = (size_t)records * RECORD_MOST;

        memory_fit(room, room_bytes, bytes);
        memset(room, NVML_BLANK, bytes);
        *count = records;
        result = f(handle, count, room);
        if (result == NVML_TOO_SMALL)
            records = (*count > records && *count < RECORDS_MOST ? *count : records) + SPARE;
    }
    return *count <= records ? result : NVML_NOT_SUPPORTED;
}

static void take(unsigned int count, uint32_t device, const struct gauge_asked *asked,
                 struct gauge_answer *out)
{
    size_t stride = nvml_stride(room, (size_t)records * RECORD_MOST, count);

    for (unsigned int i = 0; i < count; i++) {
        unsigned long long bytes;
        struct wire_use *u;
        unsigned int pid;

        memcpy(&pid, room + i * stride, sizeof(pid));
        memcpy(&bytes, room + i * stride + 8, sizeof(bytes)); /* all bits set: not available */
        u = gauge_is_asked(asked, (int32_t)pid) ? gauge_use(out, device, (int32_t)pid) : NULL;
        if (u && bytes != ABSENT && (u->used == ABSENT || u->used < bytes))
            u->used = bytes;
    }
}

static bool read_list(int list, nvml_device handle, uint32_t device,
                      const struct gauge_asked *asked, struct gauge_answer *out)
{
    if (!functions[list].known)
        look_up(list);
    for (int v = functions[list].first; v < COUNT(versions); v++) {
        unsigned int count = 0;
        int result = functions[list].version[v] ? call(functions[list].version[v], handle, &count)
                                                : NVML_NOT_FOUND;

        if (result == NVML_NOT_FOUND) {
            functions[list].first = v + 1;
            continue;
        }
        if (result == NVML_OK)
            take(count, device, asked, out);
        return result == NVML_OK;
    }
    return false;
}

bool nvml_processes(nvml_device handle, uint32_t device, const struct gauge_asked *asked,
                    struct gauge_answer *out)
{
    bool any = false;

    for (int i = 0; i < COUNT(lists); i++)
        any |= read_list(i, handle, device, asked, out);
    return any;
}
