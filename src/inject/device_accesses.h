/* device_accesses - what kernels and commands do with objects on a device, each told by itself.
 * Only where that is asked for.
 */
#ifndef INJECT_DEVICE_ACCESSES_H
#define INJECT_DEVICE_ACCESSES_H

#include "inject/device_table.h"

/* Is it asked for? Also while a recording is paused: who misses some would call memory unused that
 * is not. */
bool accesses_wanted(void);

/* An object was used in these ways (ARGUMENT_READ ...), by whom; a part of another one is that one.
 * ARGUMENT_SINCE is added where it was in use since it was told of before.
 */
void accesses_tell(const struct device_vendor *v, uint64_t object, unsigned int may,
                   const char *by);

/* A kernel was launched: all that it was given. */
void accesses_launched(const struct device_call *call, struct device_library *l, uint64_t kernel);

/* Before the first object of a vendor that tells every access. */
void accesses_begin(const struct device_vendor *v);

#endif
