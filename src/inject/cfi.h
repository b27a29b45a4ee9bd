/* cfi - how to step from a frame to its caller, out of .eh_frame, one program counter at a time.
 *
 * Nothing is prepared: a lookup finds the module (_dl_find_object: no lock, safe in a signal
 * handler), searches its .eh_frame_hdr and runs the one FDE up to the address.
 */
#ifndef INJECT_CFI_H
#define INJECT_CFI_H

#include "cfi/cfi_row.h"

#include <stdbool.h>
#include <stdint.h>

struct cfi_module {
    const void *start, *end, *map; /* map: struct link_map */
};

/* The row for an address inside an instruction. *module is set where *known says so. */
uint32_t cfi_find(uintptr_t pc, struct cfi_module *module, bool *known);

/* From where to where the function goes that holds an address; false: not known. */
bool cfi_extent(uintptr_t pc, uintptr_t *start, uintptr_t *end);

#endif
