/* nvml - a double of NVIDIA's management library over virtual devices, as its documentation
 * describes the functions. DOUBLE has words for how drivers differ and what can go wrong:
 *
 *   records=16, records=32   the lists of version 3 have records of so many bytes, and not 24
 *   no-v3                    version 3 of the lists is there, and says that it is not
 *   no-memory2               there is no second version of the memory's numbers (also: OLD, when
 * built so) unified                  the device has no memory of its own unknown what a process
 * holds is not available mig                      device 0 is divided; everything is in its second
 * part hang, crash              after a few readings; hang-init, crash-init: at once print
 * everywhere no-driver                nothing begins
 */
#include "virtual.h"

#include <stdio.h>

#define RECORD_VERSION_2 0x02000028u
enum {
    OK,
    INVALID = 2,
    NOT_SUPPORTED = 3,
    TOO_SMALL = 7,
    NO_DRIVER = 9,
    NOT_FOUND = 13,
    MISMATCH = 25
};
enum { READINGS_BEFORE_TROUBLE = 12 };

typedef struct handle *device_handle;

#define EXPORTED __attribute__((visibility("default")))
#define HANDLE(n) ((device_handle)(uintptr_t)(0x1000 + (n)))
#define PART_FIRST 0x100 /* numbers of parts */

static unsigned int number_of(device_handle d)
{
    return (unsigned int)((uintptr_t)d - 0x1000);
}

static struct virtual_device *device_of(device_handle d)
{
    unsigned int n = number_of(d);

    return &virtual_machine()->device[n >= PART_FIRST ? 0 : n];
}

/* The first part of a divided device is empty. */
static int is_empty(device_handle d)
{
    return number_of(d) == PART_FIRST;
}

static void trouble(const char *when)
{
    char hang[32], crash[32];

    snprintf(hang, sizeof(hang), "hang%s", when);
    snprintf(crash, sizeof(crash), "crash%s", when);
    if (virtual_is("print")) {
        printf("this library talks to standard output\n");
        fflush(stdout);
        fprintf(stderr, "and to standard error\n");
    }
    while (virtual_is(hang))
        pause();
    if (virtual_is(crash))
        abort();
}

EXPORTED int nvmlInit_v2(void)
{
    trouble("-init");
    if (virtual_is("no-driver") || !virtual_machine())
        return NO_DRIVER;
    virtual_reap(virtual_machine());
    return OK;
}

EXPORTED const char *nvmlErrorString(int result)
{
    return result == NO_DRIVER ? "Driver Not Loaded" : "Unknown Error";
}

EXPORTED int nvmlSystemGetDriverVersion(char *out, unsigned int room)
{
    snprintf(out, room, "double");
    return OK;
}

EXPORTED int nvmlDeviceGetCount_v2(unsigned int *count)
{
    *count = virtual_count();
    return OK;
}

EXPORTED int nvmlDeviceGetHandleByIndex_v2(unsigned int i, device_handle *out)
{
    *out = HANDLE(i);
    return i < virtual_count() ? OK : INVALID;
}

EXPORTED int nvmlDeviceGetName(device_handle d, char *out, unsigned int room)
{
    snprintf(out, room, number_of(d) >= PART_FIRST ? "Virtual GPU part" : "Virtual GPU");
    return OK;
}

EXPORTED int nvmlDeviceGetUUID(device_handle d, char *out, unsigned int room)
{
    snprintf(out, room, "%s-00000000-0000-0000-0000-%012u",
             number_of(d) >= PART_FIRST ? "MIG" : "GPU", number_of(d));
    return OK;
}

struct pci {
    char old_bus[16];
    unsigned int domain, bus, device, id, subsystem;
    char new_bus[32];
};

EXPORTED int nvmlDeviceGetPciInfo_v3(device_handle d, struct pci *out)
{
    *out = (struct pci){.bus = number_of(d) + 1};
    snprintf(out->old_bus, sizeof(out->old_bus), "0000:%02x:00.0", (number_of(d) + 1) & 0xff);
    snprintf(out->new_bus, sizeof(out->new_bus), "00000000:%02x:00.0", (number_of(d) + 1) & 0xff);
    return OK;
}

struct memory1 {
    unsigned long long total, free, used;
};

struct memory2 {
    unsigned int version;
    unsigned long long total, reserved, free, used;
};

static unsigned long long used_of(device_handle d)
{
    return is_empty(d) ? 0 : virtual_used(device_of(d));
}

EXPORTED int nvmlDeviceGetMemoryInfo(device_handle d, struct memory1 *out)
{
    if (virtual_is("unified"))
        return NOT_SUPPORTED;
    out->total = VIRTUAL_TOTAL;
    out->used = used_of(d) + VIRTUAL_RESERVED;
    out->free = out->total - out->used;
    return OK;
}

#ifndef OLD
EXPORTED int nvmlDeviceGetMemoryInfo_v2(device_handle d, struct memory2 *out)
{
    if (virtual_is("unified"))
        return NOT_SUPPORTED;
    if (virtual_is("no-memory2"))
        return NOT_FOUND;
    if (out->version != RECORD_VERSION_2)
        return MISMATCH;
    out->total = VIRTUAL_TOTAL;
    out->reserved = VIRTUAL_RESERVED;
    out->used = used_of(d);
    out->free = out->total - out->reserved - out->used;
    return OK;
}
#endif

EXPORTED int nvmlDeviceGetUtilizationRates(device_handle d, unsigned int out[2])
{
    (void)d;
    out[0] = VIRTUAL_BUSY;
    out[1] = 5;
    return OK;
}

struct work {
    unsigned int pid;
    unsigned long long time_us;
    unsigned int sm, memory, encoder, decoder;
};

EXPORTED int nvmlDeviceGetProcessUtilization(device_handle d, struct work *out, unsigned int *count,
                                             unsigned long long since)
{
    unsigned int n = 0;

    (void)since;
    if (virtual_is("mig"))
        return NOT_SUPPORTED;
    for (int i = 0; i < VIRTUAL_HOLDERS && n < *count; i++)
        if (device_of(d)->holder[i].pid && device_of(d)->holder[i].bytes)
            out[n++] = (struct work){(unsigned int)device_of(d)->holder[i].pid, 1000, 21, 3, 0, 0};
    *count = n;
    return n ? OK : INVALID;
}

EXPORTED int nvmlDeviceGetMigMode(device_handle d, unsigned int *now, unsigned int *later)
{
    *now = *later = virtual_is("mig") && number_of(d) == 0;
    return OK;
}

EXPORTED int nvmlDeviceGetMaxMigDeviceCount(device_handle d, unsigned int *most)
{
    (void)d;
    *most = 7;
    return OK;
}

EXPORTED int nvmlDeviceGetMigDeviceHandleByIndex(device_handle d, unsigned int i,
                                                 device_handle *out)
{
    (void)d;
    *out = HANDLE(PART_FIRST + i);
    return i < 2 ? OK : INVALID;
}

/* Padding is not written: 4 bytes after the pid. */
static void put_record(unsigned char *at, size_t stride, const struct virtual_holder *h)
{
    const unsigned int none = ~0u, pid = (unsigned int)h->pid;
    const unsigned long long bytes = virtual_is("unknown") ? ~0ull : h->bytes, secret = 0;

    memcpy(at, &pid, sizeof(pid));
    memcpy(at + 8, &bytes, sizeof(bytes));
    if (stride >= 24) {
        memcpy(at + 16, &none, sizeof(none));
        memcpy(at + 20, &none, sizeof(none));
    }
    if (stride >= 32)
        memcpy(at + 24, &secret, sizeof(secret));
}

static int put_list(device_handle d, unsigned int *count, unsigned char *out, size_t stride)
{
    static int readings;
    struct virtual_device *device = device_of(d);
    unsigned int room = *count, n = 0;

    virtual_machine()->asked++;
    if (++readings > READINGS_BEFORE_TROUBLE)
        trouble("");
    for (int i = 0; i < VIRTUAL_HOLDERS && !is_empty(d); i++) {
        if (!device->holder[i].pid || !device->holder[i].bytes)
            continue;
        if (n < room)
            put_record(out + n * stride, stride, &device->holder[i]);
        n++;
    }
    *count = n;
    return n > room ? TOO_SMALL : OK;
}

EXPORTED int nvmlDeviceGetComputeRunningProcesses(device_handle d, unsigned int *count, void *out)
{
    return put_list(d, count, out, 16);
}

#ifndef OLD
static size_t stride_of_v3(void)
{
    return virtual_is("records=16") ? 16 : virtual_is("records=32") ? 32 : 24;
}

EXPORTED int nvmlDeviceGetComputeRunningProcesses_v2(device_handle d, unsigned int *count,
                                                     void *out)
{
    return put_list(d, count, out, 24);
}

EXPORTED int nvmlDeviceGetComputeRunningProcesses_v3(device_handle d, unsigned int *count,
                                                     void *out)
{
    return virtual_is("no-v3") ? NOT_FOUND : put_list(d, count, out, stride_of_v3());
}

/* The same processes draw, too: they must not be counted twice. */
EXPORTED int nvmlDeviceGetGraphicsRunningProcesses_v3(device_handle d, unsigned int *count,
                                                      void *out)
{
    return virtual_is("no-v3") ? NOT_FOUND : put_list(d, count, out, stride_of_v3());
}
#endif
