/* nvml - the part of NVIDIA's management library that reads memory, as its documentation has it: no
 * header of the vendor's is needed to build this. Nothing that changes a mode of a device is
 * called.
 */
#ifndef GAUGES_NVML_H
#define GAUGES_NVML_H

#include "gauges/gauge.h"

typedef void *nvml_device;

enum nvml_result { NVML_OK = 0, NVML_NOT_SUPPORTED = 3, NVML_TOO_SMALL = 7, NVML_NOT_FOUND = 13 };

struct nvml_memory1 {
    unsigned long long total, free, used; /* used: with what the driver has reserved */
};

struct nvml_memory2 {
    unsigned int version; /* must say so: NVML_MEMORY2 */
    unsigned long long total, reserved, free, used;
};

#define NVML_MEMORY2 (sizeof(struct nvml_memory2) | 2u << 24)

struct nvml_process_work { /* of nvmlDeviceGetProcessUtilization: percent */
    unsigned int pid;
    unsigned long long time_us;
    unsigned int sm, memory, encoder, decoder;
};

struct nvml {
    int (*init)(void);
    const char *(*error)(int);
    int (*count)(unsigned int *);
    int (*handle)(unsigned int, nvml_device *);
    int (*name)(nvml_device, char *, unsigned int);
    int (*uuid)(nvml_device, char *, unsigned int);
    int (*pci)(nvml_device, void *);
    int (*memory1)(nvml_device, struct nvml_memory1 *);
    int (*memory2)(nvml_device, struct nvml_memory2 *);
    int (*work)(nvml_device, unsigned int *);
    int (*work_of)(nvml_device, struct nvml_process_work *, unsigned int *, unsigned long long);
    int (*version)(char *, unsigned int);
    int (*mig_mode)(nvml_device, unsigned int *, unsigned int *);
    int (*mig_most)(nvml_device, unsigned int *);
    int (*mig)(nvml_device, unsigned int, nvml_device *);
};

extern struct nvml nvml;

/* Load it and begin; false with a sentence why not. */
bool nvml_open(char *why, size_t room);

/* What processes that were asked about hold of a device, from all of its lists. False: there is no
 * list. */
bool nvml_processes(nvml_device handle, uint32_t device, const struct gauge_asked *asked,
                    struct gauge_answer *out);

/* How many bytes each of `count` records takes that a library wrote into a buffer that was full of
 * NVML_BLANK: drivers have changed that without a new name.
 */
#define NVML_BLANK 0xa5
size_t nvml_stride(const unsigned char *bytes, size_t size, size_t count);

#endif
