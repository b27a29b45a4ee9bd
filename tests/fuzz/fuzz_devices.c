/* fuzz_devices - all bytes that tell of devices: messages of the process that reads them and to it,
 * fdinfo, lists of a vendor's library, files of sysfs and control groups, CUDA_VISIBLE_DEVICES and
 * --device.
 */
#include "devices/choice.h"
#include "devices/gauge_wire.h"
#include "devices/visible.h"
#include "gauges/fdinfo.h"
#include "gauges/nvml.h"
#include "gauges/sysfs.h"
#include "replay.h"

#include <string.h>

static volatile unsigned int sum; /* so that every byte is read */

static void add(const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        sum += ((const unsigned char *)bytes)[i];
}

/* Whatever is understood lies within the message, and its texts end. */
static void read_messages(const uint8_t *data, size_t size)
{
    const int32_t *pids;
    struct wire_answer a;
    struct wire_ask ask;
    uint64_t *room = malloc(size + sizeof(*room)); /* aligned; of this size */

    if (!room)
        return;
    memcpy(room, data, size);
    if (wire_understand_ask(room, size, &ask, &pids))
        add(pids, ask.pids * sizeof(*pids));
    if (wire_understand(&a, room, size)) {
        add(a.head->note, strlen(a.head->note));
        for (uint32_t i = 0; a.devices && i < a.head->devices; i++) {
            add(a.devices[i].note, strlen(a.devices[i].note));
            add(a.devices[i].index, strlen(a.devices[i].index));
        }
        if (a.readings)
            add(a.readings, a.head->devices * sizeof(*a.readings));
        for (uint32_t i = 0; a.uses && i < a.head->uses; i++)
            add(&a.readings[a.uses[i].device], sizeof(*a.readings));
    }
    free(room);
}

static void read_texts(const char *text)
{
    struct device_choice choice = {0};
    uint64_t shared;
    struct fdinfo f;
    struct err err;

    if (fdinfo_parse(&f, text) && fdinfo_used(&f, &shared) != ABSENT && f.regions > FDINFO_REGIONS)
        abort();
    visible_ordinal(text, true, "GPU-1", "0");
    visible_ordinal(text, false, text, text);
    if (!device_choice_parse(text, &choice, &err) && choice.count > DEVICE_CHOICES_MOST)
        abort();
    device_choice_parse_gpu(text, &choice, &err);
}

static void read_files(const char *text)
{
    char name[SYSFS_NAME], value[32];
    uint64_t number;

    sysfs_value(text, "DRIVER", value, sizeof(value));
    sysfs_property(text, "location_id");
    for (const char *s = text; (s = sysfs_next(s, name, &number));)
        if (strlen(name) >= sizeof(name))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    read_messages(data, size);
    read_texts(text);
    read_files(text);
    for (size_t count = 1; count < 8; count++)
        if (nvml_stride(data, size, count) < 16)
            abort();
    free(text);
    return 0;
}
