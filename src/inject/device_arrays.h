/* device_arrays - what CUDA's driver and HIP have alike: descriptors of arrays (the second
 * argument), and what is asked of a pointer; and how a place on the bus is written.
 */
#ifndef INJECT_DEVICE_ARRAYS_H
#define INJECT_DEVICE_ARRAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint64_t device_array_bytes(const uintptr_t *a, bool done);
uint64_t device_array3_bytes(const uintptr_t *a, bool done);
uint64_t device_mipmap_bytes(const uintptr_t *a,
                             bool done); /* the third argument: how many levels */

/* The attribute "number of the device" by cuPointerGetAttribute or hipPointerGetAttribute; false:
 * it says none. */
bool device_of_pointer(uintptr_t ask, uint64_t handle, uint32_t *device);

/* "0000:03:00.0", of domain, bus, device and function */
void device_bus_text(char *to, const uint32_t at[4]);

#endif
