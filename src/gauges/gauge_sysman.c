/* gauge_sysman - Intel's devices, and all others with a Level Zero driver, by its Sysman. Memory is
 * in modules, of the device or of the host; how busy it was is the difference between two readings
 * of a counter.
 */
#include "gauges/gauge.h"

#include "base/count.h"
#include "gauges/library.h"

#include <stdio.h>
#include <string.h>

#define MODULES_MOST 16
#define ENGINES_MOST 64
#define PROCESSES_MOST 1024
#define ALL_ENGINES 0u /* kind of an engine group */
#define ON_DEVICE 1u   /* where a module is */
enum { PROPERTIES = 1, PCI = 2, ENGINE = 5, MODULE = 0xb, PROCESS = 0x16, MEMORY = 0x1e };

typedef void *handle;

struct properties {
    uint32_t kind;
    void *next;
    struct {
        uint32_t kind;
        void *next;
        uint32_t type, vendor, device, flags, part, clock;
        uint64_t most;
        uint32_t counts[7];
        uint64_t timer;
        uint32_t bits[2];
        uint8_t id[16];
        char name[256];
    } core;
    uint32_t parts;
    char texts[6][64];
    uint8_t more[256]; /* of later versions */
};

struct pci {
    uint32_t kind;
    void *next;
    uint32_t domain, bus, device, function;
    uint8_t more[64];
};

struct engine {
    uint32_t kind;
    void *next;
    uint32_t group;
    uint8_t on_part;
    uint32_t part;
    uint8_t more[32];
};

struct activity {
    uint64_t active_us, now_us;
};

struct module {
    uint32_t kind;
    void *next;
    uint32_t type;
    uint8_t on_part;
    uint32_t part, where;
    uint64_t bytes;
    int32_t width, channels;
    uint8_t more[32];
};

struct memory {
    uint32_t kind;
    const void *next;
    uint32_t health;
    uint64_t free, bytes;
};

struct process {
    uint32_t kind;
    const void *next;
    uint32_t pid;
    uint64_t bytes, shared;
    uint32_t engines;
};

static struct {
    int (*init)(uint32_t);
    int (*drivers)(uint32_t *, handle *);
    int (*devices)(handle, uint32_t *, handle *);
    int (*properties)(handle, struct properties *);
    int (*pci)(handle, struct pci *);
    int (*modules)(handle, uint32_t *, handle *);
    int (*module)(handle, struct module *);
    int (*memory)(handle, struct memory *);
    int (*engines)(handle, uint32_t *, handle *);
    int (*engine)(handle, struct engine *);
    int (*activity)(handle, struct activity *);
    int (*processes)(handle, uint32_t *, struct process *);
} zes;

static const struct library_function functions[] = {
    {"zesInit", &zes.init, true},
    {"zesDriverGet", &zes.drivers, true},
    {"zesDeviceGet", &zes.devices, true},
    {"zesDeviceGetProperties", &zes.properties, false},
    {"zesDevicePciGetProperties", &zes.pci, false},
    {"zesDeviceEnumMemoryModules", &zes.modules, true},
    {"zesMemoryGetProperties", &zes.module, true},
    {"zesMemoryGetState", &zes.memory, true},
    {"zesDeviceEnumEngineGroups", &zes.engines, false},
    {"zesEngineGetProperties", &zes.engine, false},
    {"zesEngineGetActivity", &zes.activity, false},
    {"zesDeviceProcessesGetState", &zes.processes, false},
};

static const char *const names[] = {"libze_loader.so.1", NULL};

static struct one {
    handle device;
    handle modules[MODULES_MOST]; /* of its own memory */
    uint32_t module_count;
    handle engine; /* all of them together; NULL: that is not known */
    struct activity last;
} devices[WIRE_DEVICES_MOST];
static uint32_t count;
static bool nested;

/* ---- what is there ---- */

static void find_modules(struct one *d)
{
    handle all[MODULES_MOST];
    uint32_t number = MODULES_MOST;

    if (zes.modules(d->device, &number, all))
        return;
    for (uint32_t i = 0; i < number && i < MODULES_MOST; i++) {
        struct module m = {.kind = MODULE};

        if (!zes.module(all[i], &m) && m.where == ON_DEVICE)
            d->modules[d->module_count++] = all[i];
    }
}

static void find_engine(struct one *d)
{
    handle all[ENGINES_MOST];
    uint32_t number = ENGINES_MOST;

    if (!zes.engines || !zes.engine || !zes.activity || zes.engines(d->device, &number, all))
        return;
    for (uint32_t i = 0; !d->engine && i < number && i < ENGINES_MOST; i++) {
        struct engine e = {.kind = ENGINE};

        if (!zes.engine(all[i], &e) && e.group == ALL_ENGINES && !e.on_part)
            d->engine = all[i];
    }
}

static void describe(struct wire_device *w, const struct one *d)
{
    static struct properties p;
    struct pci pci = {.kind = PCI};

    p = (struct properties){.kind = PROPERTIES};
    snprintf(w->index, sizeof(w->index), "%u", count);
    snprintf(w->way, sizeof(w->way), "Level Zero Sysman");
    if (zes.properties && !zes.properties(d->device, &p))
        snprintf(w->name, sizeof(w->name), "%.60s", p.core.name);
    if (zes.pci && !zes.pci(d->device, &pci))
        snprintf(w->bus, sizeof(w->bus), "%04x:%02x:%02x.%x", pci.domain & 0xffff, pci.bus & 0xff,
                 pci.device & 0x1f, pci.function & 7);
    if (!d->module_count)
        snprintf(w->note, sizeof(w->note), "it has no memory of its own: its memory is the host's");
}

static void add_device(struct gauge_found *out, handle device)
{
    struct wire_device *w = gauge_add(out);
    struct one *d = &devices[count];

    if (!w)
        return;
    d->device = device;
    find_modules(d);
    find_engine(d);
    describe(w, d);
    count++;
}

static void add_driver(struct gauge_found *out, handle driver)
{
    handle all[WIRE_DEVICES_MOST];
    uint32_t number = WIRE_DEVICES_MOST;

    if (zes.devices(driver, &number, all))
        return;
    for (uint32_t i = 0; i < number && i < WIRE_DEVICES_MOST; i++)
        add_device(out, all[i]);
}

static void open_all(struct gauge_found *out)
{
    handle drivers[8];
    uint32_t number = COUNT(drivers);
    int failed;

    if (!library_load(names, functions, COUNT(functions), out->note, sizeof(out->note)))
        return;
    failed = zes.init(0);
    if (!failed)
        failed = zes.drivers(&number, drivers);
    nested = gauge_is_nested();
    for (uint32_t i = 0; !failed && i < number && i < COUNT(drivers); i++)
        add_driver(out, drivers[i]);
    if (failed)
        snprintf(out->note, sizeof(out->note), "Level Zero's Sysman does not start (0x%x)",
                 (unsigned int)failed);
    else if (!out->count)
        snprintf(out->note, sizeof(out->note), "Level Zero's Sysman knows no device");
}

/* ---- what it holds ---- */

/* All modules, or it is not known. */
static void read_memory(const struct one *d, struct wire_reading *r)
{
    uint64_t total = 0, free = 0;

    for (uint32_t i = 0; i < d->module_count; i++) {
        struct memory m = {.kind = MEMORY};

        if (zes.memory(d->modules[i], &m) || m.free > m.bytes)
            return;
        total += m.bytes;
        free += m.free;
    }
    if (!total)
        return;
    r->total = total;
    r->used = total - free;
}

static void read_work(struct one *d, struct wire_reading *r)
{
    struct activity now = {0}, last = d->last;

    if (!d->engine || zes.activity(d->engine, &now))
        return;
    d->last = now;
    if (last.now_us && now.now_us > last.now_us && now.active_us >= last.active_us)
        r->busy = (now.active_us - last.active_us) * 1000 / (now.now_us - last.now_us);
    if (r->busy != ABSENT && r->busy > 1000)
        r->busy = 1000; /* the two are not read at once */
}

static bool read_processes(uint32_t i, const struct gauge_asked *asked, struct gauge_answer *out)
{
    static struct process list[PROCESSES_MOST];
    uint32_t number = PROCESSES_MOST;

    for (uint32_t k = 0; k < PROCESSES_MOST; k++)
        list[k] = (struct process){.kind = PROCESS};
    if (!zes.processes || zes.processes(devices[i].device, &number, list) ||
        number > PROCESSES_MOST)
        return false;
    for (uint32_t k = 0; k < number; k++) {
        int32_t pid = (int32_t)list[k].pid;
        struct wire_use *u = gauge_is_asked(asked, pid) ? gauge_use(out, i, pid) : NULL;

        if (!u)
            continue;
        u->used = (u->used == ABSENT ? 0 : u->used) + list[k].bytes;
        u->shared = (u->shared == ABSENT ? 0 : u->shared) + list[k].shared;
    }
    return true;
}

static void read_all(const struct gauge_asked *asked, struct gauge_answer *out)
{
    for (uint32_t i = 0; i < count; i++) {
        read_memory(&devices[i], &out->reading[i]);
        read_work(&devices[i], &out->reading[i]);
        if (read_processes(i, asked, out))
            out->reading[i].ours = gauge_ours(out, i, !nested);
    }
}

const struct gauge gauge_sysman = {"sysman", open_all, read_all};
