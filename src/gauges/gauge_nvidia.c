/* gauge_nvidia - NVIDIA's devices, by NVML; the parts of one that is divided (MIG) are devices of
 * their own. */
#include "gauges/gauge.h"
#include "gauges/nvml.h"

#include <stdio.h>
#include <string.h>

#define WORK_MOST 1024
#define PCI_BYTES 256 /* more than any version of it takes */
#define MIG_MOST 16

static struct {
    nvml_device handle;
    bool part;                /* of another: its engines are not told apart by process */
    bool unified;             /* it has no memory of its own */
    unsigned long long since; /* the last that was heard of its processes' work */
} devices[WIRE_DEVICES_MOST];
static uint32_t count;
static bool nested;
static char driver[48];

/* The old form of its address stands first in all versions of the structure. */
static void describe_bus(nvml_device handle, struct wire_device *w)
{
    char pci[PCI_BYTES] = "";

    if (nvml.pci && nvml.pci(handle, pci) == NVML_OK)
        snprintf(w->bus, sizeof(w->bus), "%.15s", pci);
}

static bool read_memory(nvml_device handle, struct wire_reading *r)
{
    struct nvml_memory2 second = {.version = NVML_MEMORY2};
    struct nvml_memory1 first = {0};

    if (nvml.memory2 && nvml.memory2(handle, &second) == NVML_OK && second.total) {
        r->total = second.total;
        r->reserved = second.reserved;
        r->used = second.used;
        return true;
    }
    if (!nvml.memory1 || nvml.memory1(handle, &first) != NVML_OK || !first.total)
        return false;
    r->total = first.total;
    r->used = first.used;
    return true;
}

/* The first reading shows what there is to be known. */
static void describe_memory(nvml_device handle, struct wire_device *w)
{
    struct wire_reading r = {ABSENT, ABSENT, ABSENT, ABSENT, ABSENT};

    devices[count].unified = !read_memory(handle, &r);
    if (devices[count].unified)
        snprintf(w->note, sizeof(w->note),
                 "it has no memory of its own: what it uses is the host's");
    else if (r.reserved == ABSENT)
        snprintf(w->note, sizeof(w->note), "used includes what the driver has reserved");
}

static struct wire_device *add(struct gauge_found *out, nvml_device handle)
{
    struct wire_device *w = gauge_add(out);

    if (!w)
        return NULL;
    devices[count].handle = handle;
    if (nvml.name)
        nvml.name(handle, w->name, sizeof(w->name));
    if (nvml.uuid)
        nvml.uuid(handle, w->id, sizeof(w->id));
    snprintf(w->way, sizeof(w->way), "NVML%s%s", driver[0] ? ", driver " : "", driver);
    describe_memory(handle, w);
    count++;
    return w;
}

static void add_parts(struct gauge_found *out, nvml_device whole, unsigned int number)
{
    unsigned int on = 0, later, most = MIG_MOST;
    nvml_device part;

    if (!nvml.mig_mode || !nvml.mig || nvml.mig_mode(whole, &on, &later) != NVML_OK || !on)
        return;
    if (nvml.mig_most)
        nvml.mig_most(whole, &most);
    for (unsigned int i = 0; i < most && i < WIRE_DEVICES_MOST; i++) {
        struct wire_device *w = nvml.mig(whole, i, &part) == NVML_OK ? add(out, part) : NULL;

        if (!w)
            continue;
        devices[count - 1].part = true;
        snprintf(w->index, sizeof(w->index), "%u.%u", number % 1000, i);
    }
}

static void add_all(struct gauge_found *out, unsigned int number)
{
    for (unsigned int i = 0; i < number && i < WIRE_DEVICES_MOST; i++) {
        nvml_device handle;
        struct wire_device *w = nvml.handle(i, &handle) == NVML_OK ? add(out, handle) : NULL;

        if (!w)
            continue;
        snprintf(w->index, sizeof(w->index), "%u", i);
        describe_bus(handle, w);
        add_parts(out, handle, i);
    }
}

static void open_all(struct gauge_found *out)
{
    unsigned int number = 0;

    if (!nvml_open(out->note, sizeof(out->note)))
        return;
    if (nvml.version && nvml.version(driver, sizeof(driver)) != NVML_OK)
        driver[0] = '\0';
    nested = gauge_is_nested();
    nvml.count(&number);
    add_all(out, number);
    if (!out->count)
        snprintf(out->note, sizeof(out->note),
                 number ? "NVML gives no access to its devices" : "NVML knows no device");
}

static void read_work(uint32_t i, const struct gauge_asked *asked, struct gauge_answer *out)
{
    static struct nvml_process_work work[WORK_MOST];
    unsigned int rates[2], samples = WORK_MOST;

    if (nvml.work && nvml.work(devices[i].handle, rates) == NVML_OK && rates[0] <= 100)
        out->reading[i].busy = rates[0] * 10;
    if (!nvml.work_of || devices[i].part ||
        nvml.work_of(devices[i].handle, work, &samples, devices[i].since) != NVML_OK)
        return;
    for (unsigned int k = 0; k < samples && k < WORK_MOST; k++) {
        struct wire_use *u = gauge_is_asked(asked, (int32_t)work[k].pid)
                               ? gauge_use(out, i, (int32_t)work[k].pid)
                               : NULL;

        if (u && work[k].sm <= 100)
            u->busy = work[k].sm * 10;
        if (work[k].time_us > devices[i].since)
            devices[i].since = work[k].time_us;
    }
}

static void read_all(const struct gauge_asked *asked, struct gauge_answer *out)
{
    for (uint32_t i = 0; i < count; i++) {
        bool listed = nvml_processes(devices[i].handle, i, asked, out);

        if (!devices[i].unified)
            read_memory(devices[i].handle, &out->reading[i]);
        if (listed)
            out->reading[i].ours = gauge_ours(out, i, !nested);
        read_work(i, asked, out);
    }
}

const struct gauge gauge_nvidia = {"nvidia", open_all, read_all};
