/* dcmi - a double of Ascend's management library over virtual devices, two on each card; the first
 * card is number 4. DOUBLE may have: ddr (no HBM), hang, crash, no-driver.
 */
#include "virtual.h"

#include <stdio.h>

#define EXPORTED __attribute__((visibility("default")))
#define FIRST_CARD 4
#define PER_CARD 2
#define BEFORE_TROUBLE 6
enum { OK = 0, INVALID = -8001, NOT_SUPPORTED = -8255 };

static struct virtual_device *device_of(int card, int device)
{
    int n = (card - FIRST_CARD) * PER_CARD + device;

    return card < FIRST_CARD || device < 0 || device >= PER_CARD || n >= (int)virtual_count()
             ? NULL
             : &virtual_machine()->device[n];
}

EXPORTED int dcmi_init(void)
{
    if (virtual_is("no-driver") || !virtual_machine())
        return INVALID;
    virtual_reap(virtual_machine());
    return OK;
}

EXPORTED int dcmi_get_card_list(int *count, int *list, int room)
{
    *count = ((int)virtual_count() + PER_CARD - 1) / PER_CARD;
    for (int i = 0; i < *count && i < room; i++)
        list[i] = FIRST_CARD + i;
    return OK;
}

EXPORTED int dcmi_get_device_num_in_card(int card, int *count)
{
    *count = 0;
    while (device_of(card, *count))
        ++*count;
    return *count ? OK : INVALID;
}

EXPORTED int dcmi_get_device_chip_info(int card, int device, char *out)
{
    snprintf(out, 32, "Virtual");
    snprintf(out + 32, 32, "NPU");
    return device_of(card, device) ? OK : INVALID;
}

struct hbm {
    unsigned long long size;
    unsigned int clock;
    unsigned long long used;
    int temperature;
    unsigned int bandwidth;
};

/* In MB, as they call it. */
EXPORTED int dcmi_get_device_hbm_info(int card, int device, struct hbm *out)
{
    const struct virtual_device *d = device_of(card, device);

    if (!d || virtual_is("ddr"))
        return d ? NOT_SUPPORTED : INVALID;
    *out = (struct hbm){VIRTUAL_TOTAL >> 20, 1600, (virtual_used(d) + VIRTUAL_RESERVED) >> 20, 40,
                        3};
    return OK;
}

struct ddr {
    unsigned long long size, free;
    unsigned int clock;
    unsigned long page, pages, pages_free;
    unsigned int percent;
    unsigned char more[60];
};

EXPORTED int dcmi_get_device_memory_info_v3(int card, int device, struct ddr *out)
{
    const struct virtual_device *d = device_of(card, device);

    if (!d)
        return INVALID;
    *out = (struct ddr){.size = VIRTUAL_TOTAL >> 20,
                        .percent = (unsigned int)(virtual_used(d) * 100 / VIRTUAL_TOTAL)};
    return OK;
}

EXPORTED int dcmi_get_device_utilization_rate(int card, int device, int what, unsigned int *out)
{
    *out = what == 2 ? VIRTUAL_BUSY : 99;
    return device_of(card, device) ? OK : INVALID;
}

struct process_memory {
    int pid;
    unsigned long bytes;
};

EXPORTED int dcmi_get_device_resource_info(int card, int device, struct process_memory *out,
                                           int *count)
{
    static int readings;
    struct virtual_device *d = device_of(card, device);

    if (!d)
        return INVALID;
    virtual_machine()->asked++;
    while (++readings > BEFORE_TROUBLE && virtual_is("hang"))
        pause();
    if (readings > BEFORE_TROUBLE && virtual_is("crash"))
        abort();
    *count = 0;
    for (int i = 0; i < VIRTUAL_HOLDERS && *count < 64; i++)
        if (d->holder[i].pid && d->holder[i].bytes)
            out[(*count)++] = (struct process_memory){d->holder[i].pid, d->holder[i].bytes};
    return OK;
}
