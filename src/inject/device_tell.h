/* device_tell - what happened to memory of a device, as a record: in which space, by which call,
 * and, once for each device of a recording, on which bus that is.
 */
#ifndef INJECT_DEVICE_TELL_H
#define INJECT_DEVICE_TELL_H

#include "inject/device_table.h"

#include "trace/ring.h"

struct device_event {
    enum ring_space what;
    const struct device_call *call;
    const struct device_vendor *vendor;
    uint64_t handle, bytes, when, owner;
    uint8_t kind;
    uint32_t device;
    char called[DEVICE_TEXT]; /* empty: the name of the call */
    char bus[DEVICE_BUS];     /* empty: it is not told */
};

/* By `c`, unless nothing is to be recorded now. */
void device_tell(const struct device_event *e, struct caller c);

/* Where the device of an allocation is that is about to be told; nothing if that was said in this
 * recording. */
void device_find_bus(struct device_library *l, struct device_event *e);

/* A handle has died, as the library itself says: no call of the program's did it. */
void device_died(const struct device_vendor *v, const struct device_call *call, uint64_t handle);

#endif
