/* gauge_ascend - Ascend NPUs, by DCMI. A card has a number of the driver's, which need not be its
 * place in the list, and one or more devices.
 */
#include "gauges/gauge.h"

#include "base/count.h"
#include "gauges/library.h"

#include <stdio.h>
#include <string.h>

#define CARDS_MOST 64
#define PROCESSES_MOST                                                                             \
    256 /* the library writes up to 64, and is not told how many there is room for */
#define MIB (1ull << 20)
#define WORK_OF_CORES 2

struct hbm {
    unsigned long long size_mib;
    unsigned int clock;
    unsigned long long used_mib;
    int temperature;
    unsigned int bandwidth;
};

struct ddr {
    unsigned long long size_mib, free_mib;
    unsigned int clock;
    unsigned long page_kib, pages, pages_free;
    unsigned int used_percent;
    unsigned char more[60];
};

struct process_memory {
    int pid;
    unsigned long bytes;
};

struct pcie {
    unsigned int vendor, subvendor, device, subdevice;
    int domain;
    unsigned int bus, slot, function;
    unsigned char more[32];
};

static struct {
    int (*init)(void);
    int (*cards)(int *, int *, int);
    int (*devices_in)(int, int *);
    int (*hbm)(int, int, struct hbm *);
    int (*ddr)(int, int, struct ddr *);
    int (*work)(int, int, int, unsigned int *);
    int (*processes)(int, int, struct process_memory *, int *);
    int (*chip)(int, int, void *);
    int (*pcie)(int, int, struct pcie *);
} dcmi;

static const struct library_function functions[] = {
    {"dcmi_init", &dcmi.init, true},
    {"dcmi_get_card_list dcmi_get_card_num_list", &dcmi.cards, true},
    {"dcmi_get_device_num_in_card", &dcmi.devices_in, true},
    {"dcmi_get_device_hbm_info dcmi_get_hbm_info", &dcmi.hbm, false},
    {"dcmi_get_device_memory_info_v3", &dcmi.ddr, false},
    {"dcmi_get_device_utilization_rate", &dcmi.work, false},
    {"dcmi_get_npu_proc_mem_info dcmi_get_device_resource_info", &dcmi.processes, false},
    {"dcmi_get_device_chip_info", &dcmi.chip, false},
    {"dcmi_get_device_pcie_info_v2", &dcmi.pcie, false},
};

static const char *const names[] = {"libdcmi.so", "/usr/local/dcmi/libdcmi.so",
                                    "/usr/local/Ascend/driver/lib64/driver/libdcmi.so", NULL};

static struct {
    int card, number;
} devices[WIRE_DEVICES_MOST];
static uint32_t count;
static bool nested;

static bool read_memory(uint32_t i, struct wire_reading *r)
{
    struct hbm hbm = {0};
    struct ddr ddr = {0};

    if (dcmi.hbm && !dcmi.hbm(devices[i].card, devices[i].number, &hbm) && hbm.size_mib) {
        r->total = hbm.size_mib * MIB;
        r->used = hbm.used_mib * MIB;
        return true;
    }
    if (!dcmi.ddr || dcmi.ddr(devices[i].card, devices[i].number, &ddr) || !ddr.size_mib ||
        ddr.used_percent > 100) /* what is free is in a unit that depends on the product */
        return false;
    r->total = ddr.size_mib * MIB;
    r->used = r->total / 100 * ddr.used_percent;
    return true;
}

static void describe(struct wire_device *w, uint32_t i)
{
    struct wire_reading r;
    char chip[512] = ""; /* three names of 32 bytes, and more */
    struct pcie pcie = {0};

    snprintf(w->index, sizeof(w->index), "%u", i);
    snprintf(w->way, sizeof(w->way), "DCMI, card %d device %d", devices[i].card, devices[i].number);
    if (dcmi.chip && !dcmi.chip(devices[i].card, devices[i].number, chip))
        snprintf(w->name, sizeof(w->name), "%.31s %.31s", chip, chip + 32);
    if (dcmi.pcie && !dcmi.pcie(devices[i].card, devices[i].number, &pcie))
        snprintf(w->bus, sizeof(w->bus), "%04x:%02x:%02x.%x", (unsigned int)pcie.domain & 0xffff,
                 pcie.bus & 0xff, pcie.slot & 0x1f, pcie.function & 7);
    if (!read_memory(i, &r))
        snprintf(w->note, sizeof(w->note), "DCMI does not say how much memory it has");
}

static void add_card(struct gauge_found *out, int card)
{
    int number = 0;

    if (dcmi.devices_in(card, &number))
        return;
    for (int i = 0; i < number && i < WIRE_DEVICES_MOST; i++) {
        struct wire_device *w = gauge_add(out);

        if (!w)
            return;
        devices[count].card = card;
        devices[count].number = i;
        describe(w, count++);
    }
}

static void open_all(struct gauge_found *out)
{
    int cards[CARDS_MOST] = {0}, number = 0, failed;

    if (!library_load(names, functions, COUNT(functions), out->note, sizeof(out->note)))
        return;
    failed = dcmi.init();
    if (!failed)
        failed = dcmi.cards(&number, cards, CARDS_MOST);
    nested = gauge_is_nested();
    for (int i = 0; !failed && i < number && i < CARDS_MOST; i++)
        add_card(out, cards[i]);
    if (failed)
        snprintf(out->note, sizeof(out->note), "DCMI does not start (%d)", failed);
    else if (!out->count)
        snprintf(out->note, sizeof(out->note), "DCMI knows no device");
}

static bool read_processes(uint32_t i, const struct gauge_asked *asked, struct gauge_answer *out)
{
    static struct process_memory list[PROCESSES_MOST];
    int number = 0;

    if (!dcmi.processes || dcmi.processes(devices[i].card, devices[i].number, list, &number) ||
        number < 0 || number > PROCESSES_MOST)
        return false;
    for (int k = 0; k < number; k++) {
        struct wire_use *u = gauge_is_asked(asked, list[k].pid) ? gauge_use(out, i, list[k].pid)
                                                                : NULL;

        if (u)
            u->used = (u->used == ABSENT ? 0 : u->used) + list[k].bytes;
    }
    return true;
}

static void read_all(const struct gauge_asked *asked, struct gauge_answer *out)
{
    for (uint32_t i = 0; i < count; i++) {
        unsigned int percent;

        read_memory(i, &out->reading[i]);
        if (dcmi.work && !dcmi.work(devices[i].card, devices[i].number, WORK_OF_CORES, &percent) &&
            percent <= 100)
            out->reading[i].busy = percent * 10;
        if (read_processes(i, asked, out))
            out->reading[i].ours = gauge_ours(out, i, !nested);
    }
}

const struct gauge gauge_ascend = {"ascend", open_all, read_all};
