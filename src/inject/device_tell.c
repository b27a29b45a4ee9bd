/* device_tell - see device_tell.h. */
#include "inject/device_tell.h"

#include "inject/process.h"
#include "inject/space_tell.h"
#include "inject/sys.h"

#include <stdatomic.h>
#include <string.h>

/* All texts are of our own tables, and short. */
static size_t append(char *to, size_t at, const char *text)
{
    size_t bytes = strlen(text);

    memcpy(to + at, text, bytes);
    return at + bytes;
}

#define NAME_MOST 32
_Static_assert(NAME_MOST + SYS_DIGITS + DEVICE_BUS + DEVICE_TEXT <= SPACE_TEXT_MOST,
               "a name, a bus and a call");

/* The name of the space, "hip:0" or "hip:0@0000:03:00.0", then of the call; how long the first is.
 */
static size_t put_names(char *to, const void *context, size_t *all)
{
    const struct device_event *e = context;
    const struct device_vendor *v = e->vendor;
    char number[SYS_DIGITS];
    size_t at = append(to, 0,
                       e->kind == RING_SPACE_ON_DEVICE ? v->device
                       : e->kind == RING_SPACE_PINNED  ? v->pinned
                                                       : v->shared);

    if (e->kind == RING_SPACE_ON_DEVICE) {
        sys_number(number, (int)(e->device & INT32_MAX));
        at = append(to, at, ":");
        at = append(to, at, number);
        if (*e->bus)
            at = append(to, append(to, at, "@"), e->bus);
    }
    *all = append(to, at, *e->called ? e->called : e->call->name);
    return at;
}

void device_tell(const struct device_event *e, struct caller c)
{
    const struct space_told told = {.what = e->what,
                                    .class = e->vendor->number << RING_SPACE_CLASS_BITS |
                                             e->call->class,
                                    .handle = e->handle,
                                    .bytes = e->bytes,
                                    .owner = e->owner,
                                    .when = e->when,
                                    .kind = e->kind,
                                    .name = put_names,
                                    .context = e};

    space_tell(&told, c);
}

#define VENDORS 8
#define TOLD_MOST 64

void device_find_bus(struct device_library *l, struct device_event *e)
{
    static _Atomic uint64_t told[VENDORS][TOLD_MOST];
    uint64_t recording = process.control->origin_ns;

    if (!l->vendor->bus || e->kind != RING_SPACE_ON_DEVICE || l->vendor->number >= VENDORS ||
        e->device >= TOLD_MOST || process_mode() & RING_PAUSED || local.muted ||
        atomic_exchange(&told[l->vendor->number][e->device], recording) == recording)
        return;
    local.device++;
    if (!l->vendor->bus(l, e->device, e->bus))
        e->bus[0] = '\0';
    local.device--;
}

void device_died(const struct device_vendor *v, const struct device_call *call, uint64_t handle)
{
    const struct device_event e = {
        .what = RING_SPACE_FREE, .call = call, .vendor = v, .handle = handle};

    device_tell(&e, CALLER());
}
