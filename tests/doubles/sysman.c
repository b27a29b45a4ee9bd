/* sysman - a double of Level Zero's loader with Sysman over virtual devices, each with two modules
 * of its own memory and one of the host's. DOUBLE may have: no-driver, integrated (no memory of its
 * own), no-processes.
 */
#include "virtual.h"

#include <stdio.h>

#define EXPORTED __attribute__((visibility("default")))
enum { OK = 0, NONE = 0x78000001, UNSUPPORTED = 0x78000003, INVALID = 0x78000004 };
enum { MODULES = 3, ENGINES = 2 };

typedef void *handle;

/* A handle is a number: of a device above 0, with that of a part of it above that. */
static handle handle_of(unsigned int device, unsigned int part)
{
    return (handle)(uintptr_t)(device + 1 + (part << 8));
}

static struct virtual_device *device_of(handle h)
{
    unsigned int n = ((unsigned int)(uintptr_t)h & 0xff) - 1;

    return n < virtual_count() ? &virtual_machine()->device[n] : NULL;
}

static unsigned int part_of(handle h)
{
    return (unsigned int)(uintptr_t)h >> 8;
}

/* As many as there is room for. */
static int list(uint32_t *count, handle *out, unsigned int there, unsigned int device, int parts)
{
    if (*count > there || !*count)
        *count = there;
    for (unsigned int i = 0; out && i < *count; i++)
        out[i] = parts ? handle_of(device, i + 1) : handle_of(i, 0);
    return OK;
}

EXPORTED int zesInit(uint32_t flags)
{
    if (flags || virtual_is("no-driver") || !virtual_machine())
        return NONE;
    virtual_reap(virtual_machine());
    return OK;
}

EXPORTED int zesDriverGet(uint32_t *count, handle *out)
{
    *count = 1;
    out[0] = handle_of(0, 99);
    return OK;
}

EXPORTED int zesDeviceGet(handle driver, uint32_t *count, handle *out)
{
    return part_of(driver) == 99 ? list(count, out, virtual_count(), 0, 0) : INVALID;
}

struct properties {
    uint32_t kind;
    void *next;
    uint32_t core_kind;
    void *core_next;
    uint32_t type, vendor, device, flags, part, clock;
    uint64_t most;
    uint32_t counts[7];
    uint64_t timer;
    uint32_t bits[2];
    uint8_t id[16];
    char name[256];
};

EXPORTED int zesDeviceGetProperties(handle device, struct properties *out)
{
    if (!device_of(device) || out->kind != 1)
        return INVALID;
    snprintf(out->name, sizeof(out->name), "Virtual XPU");
    return OK;
}

EXPORTED int zesDeviceEnumMemoryModules(handle device, uint32_t *count, handle *out)
{
    unsigned int n = ((unsigned int)(uintptr_t)device & 0xff) - 1;

    return device_of(device) ? list(count, out, MODULES, n, 1) : INVALID;
}

struct module {
    uint32_t kind;
    void *next;
    uint32_t type;
    uint8_t on_part;
    uint32_t part, where;
    uint64_t bytes;
};

EXPORTED int zesMemoryGetProperties(handle module, struct module *out)
{
    if (out->kind != 0xb)
        return INVALID;
    out->where = part_of(module) < MODULES && !virtual_is("integrated");
    return OK;
}

struct memory {
    uint32_t kind;
    const void *next;
    uint32_t health;
    uint64_t free, bytes;
};

/* Both have half of it, and the first what is used. */
EXPORTED int zesMemoryGetState(handle module, struct memory *out)
{
    const struct virtual_device *d = device_of(module);

    if (!d || out->kind != 0x1e)
        return INVALID;
    out->bytes = VIRTUAL_TOTAL / 2;
    out->free = out->bytes - (part_of(module) == 1 ? virtual_used(d) : 0);
    return OK;
}

EXPORTED int zesDeviceEnumEngineGroups(handle device, uint32_t *count, handle *out)
{
    unsigned int n = ((unsigned int)(uintptr_t)device & 0xff) - 1;

    return device_of(device) ? list(count, out, ENGINES, n, 1) : INVALID;
}

struct engine {
    uint32_t kind;
    void *next;
    uint32_t group;
    uint8_t on_part;
};

EXPORTED int zesEngineGetProperties(handle engine, struct engine *out)
{
    out->group = part_of(engine) == 2 ? 0 : 3; /* the second is all of them */
    out->on_part = 0;
    return OK;
}

EXPORTED int zesEngineGetActivity(handle engine, uint64_t out[2])
{
    static uint64_t asked;

    asked++;
    out[0] = part_of(engine) == 2 ? asked * VIRTUAL_BUSY * 10 : 0;
    out[1] = asked * 1000;
    return OK;
}

struct process {
    uint32_t kind;
    const void *next;
    uint32_t pid;
    uint64_t bytes, shared;
    uint32_t engines;
};

EXPORTED int zesDeviceProcessesGetState(handle device, uint32_t *count, struct process *out)
{
    const struct virtual_device *d = device_of(device);
    uint32_t n = 0;

    virtual_machine()->asked++;
    if (!d || virtual_is("no-processes"))
        return UNSUPPORTED;
    for (int i = 0; i < VIRTUAL_HOLDERS && n < *count; i++)
        if (d->holder[i].pid && d->holder[i].bytes) {
            if (out[n].kind != 0x16)
                return INVALID;
            out[n].pid = (uint32_t)d->holder[i].pid;
            out[n].bytes = d->holder[i].bytes;
            out[n++].shared = 1 << 20;
        }
    *count = n;
    return OK;
}
