/* gauge_drm - AMD, Intel and every other device with a DRM driver, by files of the kernel alone:
 * sysfs for the whole device, fdinfo and AMD's kfd for processes.
 */
#include "gauges/drm.h"
#include "gauges/sysfs.h"

#include "base/count.h"
#include "base/memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct drm drm = {0};

/* They show pictures, and hold nothing that a program computes with; or are read in another way. */
static const struct {
    const char *driver, *why;
} others[] = {
    {"nvidia", "is read by NVML"},
    {"ast", NULL},
    {"bochs-drm", NULL},
    {"cirrus", NULL},
    {"mgag200", NULL},
    {"vkms", NULL},
    {"vgem", NULL},
    {"simple-framebuffer", NULL},
    {"hyperv_drm", NULL},
    {"udl", NULL},
    {"gud", NULL},
    {"hibmc-drm", NULL},
};

static bool is_other(const char *driver, struct gauge_found *out)
{
    for (int i = 0; i < COUNT(others); i++) {
        if (strcmp(others[i].driver, driver) != 0)
            continue;
        snprintf(out->note, sizeof(out->note), "a device of the driver %s %s", driver,
                 others[i].why ? others[i].why : "only shows pictures");
        return true;
    }
    return false;
}

static int open_file(const struct drm_device *d, const char *name)
{
    char path[4096];

    return gauge_path(path, sizeof(path), "%s/%s", d->folder, name)
             ? open(path, O_RDONLY | O_CLOEXEC)
             : -1;
}

static void describe(struct wire_device *w, const struct drm_device *d, const char *event)
{
    char product[64] = "", id[32];

    if (gauge_read(product, sizeof(product), "%s/product_name", d->folder))
        product[strcspn(product, "\n")] = '\0';
    sysfs_value(event, "PCI_ID", id, sizeof(id));
    snprintf(w->index, sizeof(w->index), "%u", drm.count);
    snprintf(w->name, sizeof(w->name), "%.40s%s%.20s", product[0] ? product : d->driver,
             product[0] || !id[0] ? "" : " ", product[0] ? "" : id);
    snprintf(w->bus, sizeof(w->bus), "%s", d->bus);
    snprintf(w->way, sizeof(w->way), "%.24s, %s", d->driver,
             d->used >= 0 ? "sysfs and fdinfo" : "fdinfo");
    if (d->used < 0)
        snprintf(w->note, sizeof(w->note),
                 "its driver does not say what all programs together hold");
}

static void take_device(const char *class, const char *name, struct gauge_found *out)
{
    struct drm_device *d = &drm.device[drm.count];
    struct wire_device *w;
    char event[2048];

    *d = (struct drm_device){.gpu = ABSENT, .used = -1, .busy = -1, .total = ABSENT};
    if (snprintf(d->folder, sizeof(d->folder), "sys/class/%s/%.20s/device", class, name) < 0 ||
        !gauge_read(event, sizeof(event), "%s/uevent", d->folder) ||
        !sysfs_value(event, "DRIVER", d->driver, sizeof(d->driver)) || is_other(d->driver, out) ||
        !(w = gauge_add(out)))
        return;
    sysfs_value(event, "PCI_SLOT_NAME", d->bus, sizeof(d->bus));
    d->used = open_file(d, "mem_info_vram_used");
    d->busy = open_file(d, "gpu_busy_percent");
    d->total = gauge_number("%s/mem_info_vram_total", d->folder);
    describe(w, d, event);
    drm.count++;
}

static int by_number(const void *left, const void *right)
{
    return *(const int *)left - *(const int *)right;
}

/* card0, card1, ... in the order of their numbers; not card0-HDMI-A-1. */
static void take_class(const char *class, const char *prefix, struct gauge_found *out)
{
    int numbers[WIRE_DEVICES_MOST], count = 0, end;
    struct dirent *entry;
    char path[4096];
    DIR *folder = gauge_path(path, sizeof(path), "sys/class/%s", class) ? opendir(path) : NULL;

    while (folder && count < WIRE_DEVICES_MOST && (entry = readdir(folder))) {
        const char *digits = entry->d_name + strlen(prefix);

        if (!strncmp(entry->d_name, prefix, strlen(prefix)) &&
            sscanf(digits, "%9d%n", &numbers[count], &end) == 1 && !digits[end])
            count++;
    }
    if (folder)
        closedir(folder);
    memory_sort(numbers, (size_t)count, sizeof(numbers[0]), by_number);
    for (int i = 0; i < count && drm.count < WIRE_DEVICES_MOST; i++) {
        snprintf(path, sizeof(path), "%s%d", prefix, numbers[i]);
        take_device(class, path, out);
    }
}

static void open_all(struct gauge_found *out)
{
    take_class("drm", "card", out);
    take_class("accel", "accel", out);
    drm_kfd_open(&drm);
    if (drm.count)
        out->note[0] = '\0'; /* there are others as well */
    else if (!out->note[0])
        snprintf(out->note, sizeof(out->note), "no DRM driver has a device here");
}

/* A driver that gives no bus is the only one of its name. */
uint32_t drm_find(const struct drm *d, const char *driver, const char *bus)
{
    uint32_t i = 0;

    while (i < d->count &&
           (bus[0] ? strcmp(d->device[i].bus, bus) != 0 : strcmp(d->device[i].driver, driver) != 0))
        i++;
    return i;
}

static uint64_t number_in(int file)
{
    char text[32];
    ssize_t n = file < 0 ? -1 : pread(file, text, sizeof(text) - 1, 0);

    if (n <= 0)
        return ABSENT;
    text[n] = '\0';
    return sysfs_number(text);
}

static void read_all(const struct gauge_asked *asked, struct gauge_answer *out)
{
    bool sure = drm_clients_read(&drm, asked, out);

    drm_kfd_read(&drm, asked, out);
    if (!sure)
        snprintf(out->note, sizeof(out->note),
                 "the files of a process may not be read, so what it holds is not known");
    for (uint32_t i = 0; i < drm.count; i++) {
        uint64_t percent = number_in(drm.device[i].busy);

        out->reading[i].used = number_in(drm.device[i].used);
        out->reading[i].total = drm.device[i].total;
        out->reading[i].busy = percent > 100 ? ABSENT : percent * 10;
        out->reading[i].ours = sure ? gauge_ours(out, i, true) : ABSENT;
    }
}

const struct gauge gauge_drm = {"drm", open_all, read_all};
