/* device_ascend - Huawei's HAL, below ACL and the runtime. A word of flags says on which device
 * memory is, on which side, in which pages and for which module:
 *
 *   bits 0-9  device    10-13  side: 0 shared (SVM), 1 device, 2 host, 3 device (DVPP)
 *   17 huge pages       31  giant pages       56-63  module
 */
#include "inject/device.h"

#include "inject/sys.h"

#include <string.h>

enum { POINTER, PHYSICAL }; /* classes of handles */

enum pages { NORMAL, HUGE, GIANT };

/* "halMemAlloc, huge pages, module 3" */
static void describe(char *text, const char *name, enum pages pages, unsigned int module)
{
    static const char *const kinds[] = {
        [NORMAL] = "", [HUGE] = ", huge pages", [GIANT] = ", giant pages"};
    char number[SYS_DIGITS];
    size_t at = strlen(name), bytes = strlen(kinds[pages]);

    memcpy(text, name, at);
    memcpy(text + at, kinds[pages], bytes);
    at += bytes;
    memcpy(text + at, ", module ", 9);
    sys_number(number, (int)module);
    memcpy(text + at + 9, number, SYS_DIGITS);
}

static void flag_place(struct device_library *l, const uintptr_t *a, uint8_t *kind,
                       uint32_t *device, char *text)
{
    static const uint8_t sides[] = {RING_SPACE_SHARED, RING_SPACE_ON_DEVICE, RING_SPACE_PINNED,
                                    RING_SPACE_ON_DEVICE};
    uint64_t flags = a[2];

    (void)l;
    *kind = sides[flags >> 10 & 3];
    *device = flags & 0x3ff;
    describe(text, "halMemAlloc",
             flags >> 31 & 1   ? GIANT
             : flags >> 17 & 1 ? HUGE
                               : NORMAL,
             (unsigned int)(flags >> 56));
}

/* drv_mem_prop: its side (1: the device's), device, module, pages. */
static void prop_place(struct device_library *l, const uintptr_t *a, uint8_t *kind,
                       uint32_t *device, char *text)
{
    const uint32_t *p = (const uint32_t *)a[2];

    (void)l;
    *kind = p[0] == 1 ? RING_SPACE_ON_DEVICE : RING_SPACE_PINNED;
    *device = p[1];
    describe(text, "halMemCreate", p[3] <= GIANT ? (enum pages)p[3] : NORMAL, p[2] & 0xff);
}

// clang-format off
static const struct device_call calls[] = {
    {.name = "halMemAlloc", .does = DEVICE_ALLOCATES, .size = 1, .owner = -1, .place = flag_place},
    {.name = "halMemFree", .does = DEVICE_FREES},
    {.name = "halMemCreate", .does = DEVICE_ALLOCATES, .class = PHYSICAL, .size = 1, .owner = -1,
     .place = prop_place},
    {.name = "halMemRelease", .does = DEVICE_FREES, .class = PHYSICAL},
    {.name = "halMemMap", .does = DEVICE_MAPS, .class = PHYSICAL, .handle = 3, .at = 0, .size = 1},
    {.name = "halMemUnmap", .does = DEVICE_UNMAPS, .class = PHYSICAL, .at = 0, .size = -1},
};
// clang-format on

static const char *const files[] = {"libascend_hal.so", NULL};

const struct device_vendor device_ascend = {
    .files = files,
    .device = "ascend",
    .pinned = "ascend-host",
    .shared = "ascend-svm",
    .calls = calls,
    .count = sizeof(calls) / sizeof(calls[0]),
    .number = 3,
};
