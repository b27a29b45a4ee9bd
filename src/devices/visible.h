/* visible - which number CUDA gives a device: NVML, which we ask, does not know
 * CUDA_VISIBLE_DEVICES. */
#ifndef DEVICES_VISIBLE_H
#define DEVICES_VISIBLE_H

#include <stdbool.h>

enum { DEVICE_CUDA_HIDDEN = -1, DEVICE_CUDA_UNKNOWN = -2 };

/* `visible`: the variable, or NULL; `by_bus`: CUDA counts in NVML's order. The number among the
 * visible ones, DEVICE_CUDA_HIDDEN or DEVICE_CUDA_UNKNOWN.
 */
int visible_ordinal(const char *visible, bool by_bus, const char *id, const char *index);

#endif
